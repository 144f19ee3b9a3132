"""Where would these pods go? Arrays inside, names at both doors."""
