"""Write the table of settings in docs/operations.md anew, from `turnwright.settings.Settings`.

python -m scripts.settings_table
"""

from pathlib import Path

from pydantic.fields import FieldInfo

from turnwright.settings import PREFIX, Settings

DOCUMENT = Path(__file__).parents[1] / "docs" / "operations.md"
BEGIN = "<!-- settings: written by scripts/settings_table.py -->\n"
END = "<!-- end of settings -->\n"


def table() -> str:
    """The table in Markdown."""
    rows = [_row(name, field) for name, field in Settings.model_fields.items()]
    return "\n".join(["| variable | default | meaning |", "| --- | --- | --- |", *rows]) + "\n"


def rewritten(document: str) -> str:
    """The document with the table between its two marks."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def _row(name: str, field: FieldInfo) -> str:
    default = "" if field.default in (None, ()) else f"`{field.default}`"
    meaning = " ".join((field.description or "").split()).replace("|", "\\|")
    return f"| `{PREFIX}{name.upper()}` | {default} | {meaning} |"


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text()))
