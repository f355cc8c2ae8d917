package search

// contextLines sorts out which lines of a text to emit: the matching ones and those around them, each once.
type contextLines struct {
	query *Query
	emit  Emit
	due   int // lines still to emit after the last match

	before []([]byte) // a ring of the last lines that were not emitted; its slots are used again
	first  int        // slot of the oldest
	count  int
	bytes  int
}

// line takes the next line with the number of matches in it. Without context a line is emitted once for every match.
func (c *contextLines) line(n int, text []byte, matches int) error {
	if matches == 0 {
		if c.due > 0 {
			c.due--
			return c.emit(n, string(text))
		}
		c.remember(text)
		return nil
	}
	for ; c.count > 0; c.forgetOldest() {
		if err := c.emit(n-c.count, string(c.before[c.first])); err != nil {
			return err
		}
	}
	c.due = max(0, c.query.After)
	if c.query.Before > 0 || c.query.After > 0 {
		matches = 1
	}
	for range matches {
		if err := c.emit(n, string(text)); err != nil {
			return err
		}
	}
	return nil
}

func (c *contextLines) remember(line []byte) {
	if c.query.Before <= 0 {
		return
	}
	for c.count > 0 && (c.count >= c.query.Before || c.query.MaxBytes > 0 && c.bytes+len(line) > c.query.MaxBytes) {
		c.forgetOldest()
	}
	if c.count == len(c.before) {
		c.grow()
	}
	slot := (c.first + c.count) % len(c.before)
	c.before[slot] = append(c.before[slot][:0], line...)
	c.count++
	c.bytes += len(line)
}

// grow makes room in a full ring.
func (c *contextLines) grow() {
	larger := make([][]byte, min(c.query.Before, 2*len(c.before)+4))
	n := copy(larger, c.before[c.first:])
	copy(larger[n:], c.before[:c.first])
	c.before, c.first = larger, 0
}

func (c *contextLines) forgetOldest() {
	c.bytes -= len(c.before[c.first])
	c.first = (c.first + 1) % len(c.before)
	c.count--
}
