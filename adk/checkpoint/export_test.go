package checkpoint

// Disturb has a function make the changes of a store to files. half makes one in part; nil for what has no parts.
func Disturb(s *FileStore, by func(change string, do, half func() error) error) {
	s.disk.disturb = func(c diskChange) error { return by(c.name, c.do, c.half) }
}
