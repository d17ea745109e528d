"""What the user has set: providers and their keys, own budgets, secrets, tool files, display."""

from runtime.settings.keys import KeyPlace, write_key
from runtime.settings.load import load_display, load_settings
from runtime.settings.model import Chosen, Display, Secret, Settings, UserBudget
from runtime.settings.places import config_path, data_folder, database_path

__all__ = [
    "Chosen",
    "Display",
    "KeyPlace",
    "Secret",
    "Settings",
    "UserBudget",
    "config_path",
    "data_folder",
    "database_path",
    "load_display",
    "load_settings",
    "write_key",
]
