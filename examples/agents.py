"""The example agents: `TURNWRIGHT_AGENTS=examples/agents.py`. See README.md beside this file."""

from research import research
from support_desk import support

agents = [support, research]
