"""Language models: any OpenAI-compatible endpoint and the scripted one; token counts and prices."""
