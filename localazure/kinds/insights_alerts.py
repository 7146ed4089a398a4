"""Rules of smart detection and action groups: kept and shown. Nothing is detected, and nobody is told.

Azure makes one of each beside a component of Application Insights, and leaves them when it is deleted
(`localazure.weather.own_acts`). Members: Microsoft Learn, REST reference of Microsoft.AlertsManagement/smartDetectorAlertRules
2021-04-01 and of Microsoft.Insights/actionGroups.
"""

from localazure.arm.kind import Kind
from localazure.kinds import undeclared


class SmartDetectorAlertRules(Kind):
    """Made and deleted at once."""

    azure_type = undeclared.ALERT_RULE
    location = "global"
    shows_state = False


class ActionGroups(Kind):
    """Made and deleted at once."""

    azure_type = undeclared.ACTION_GROUP
    location = "global"
    shows_state = False
