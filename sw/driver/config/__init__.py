"""The TOML file that configures a board."""
