"""What tests start, counted where they start it: "servers", "up", …"""

from collections import Counter

STARTED: Counter[str] = Counter()
