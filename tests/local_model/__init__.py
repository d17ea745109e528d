"""A small real model on loopback: its weights come from the package index, its server is llama.cpp's."""
