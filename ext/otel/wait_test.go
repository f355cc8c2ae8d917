package weftotel

import "time"

const (
	waitFor = 5 * time.Second
	tick    = time.Millisecond
)
