"""The controller's own decisions in simulated time: what a day of pods would cost, and how long they would wait."""
