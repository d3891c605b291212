"""What metric="auto" is."""

# Up to this fan-in the blocks of all units are kept; up to the second, one block for all units
# that listen to the same sources.
LARGEST_CHEAP_FAN_IN, LARGEST_SHARED_FAN_IN = 32, 256


def auto_metric(topology):
    """The name of the metric that keeps as much of a unit's block as is cheap."""
    largest = topology.largest_fan_in
    if largest <= LARGEST_CHEAP_FAN_IN:
        return "bp"
    shared = all(group.shared for group in topology.groups)
    return "kron_bp" if shared and largest <= LARGEST_SHARED_FAN_IN else "qd_bp"
