"""How long hypothesis may take."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "merganser", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("merganser"), max_examples=500)
settings.load_profile("merganser")
