;; Nothing of its own: all defaults.
