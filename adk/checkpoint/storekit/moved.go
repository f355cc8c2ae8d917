package storekit

import (
	"fmt"
	"time"

	"github.com/weftgo/weft/runs"
)

// Moved is the part of a row that the appends of a lease change, for stores that keep it beside the rest, which they write
// less often.
type Moved struct {
	// Life is the number of records that the lease has appended.
	Life     int64
	Status   runs.Status
	Attempts int
	Steps    int
	Expires  time.Time
}

// CheckMoved refuses what is kept beside a row that was read, if appends cannot have made it of what the row had when it was
// written: it was damaged then. The error matches [runs.ErrUnreadable].
func (r *Row) CheckMoved(m Moved) error {
	was, appended := &r.Run, m.Life > 0
	steps := int64(m.Steps) - int64(was.Steps)
	switch {
	case m.Status != was.Status && !(appended && m.Status == runs.Running):
		return fmt.Errorf("%w: its status is %q beside it, and %q in it", runs.ErrUnreadable, m.Status, was.Status)
	case m.Attempts != was.Attempts && !(appended && m.Attempts == 1):
		return fmt.Errorf("%w: it has %d attempts beside it, and %d in it", runs.ErrUnreadable, m.Attempts, was.Attempts)
	case steps < 0 || steps > m.Life:
		return fmt.Errorf("%w: it has %d steps beside it, and %d in it, of which a lease has appended %d", runs.ErrUnreadable, m.Steps, was.Steps, m.Life)
	case !sameMicros(m.Expires, was.Expires) && !(appended && m.Expires.IsZero()):
		return fmt.Errorf("%w: it expires at %v beside it, and at %v in it", runs.ErrUnreadable, m.Expires, was.Expires)
	}
	return nil
}

func sameMicros(a, b time.Time) bool {
	return a.IsZero() && b.IsZero() || !a.IsZero() && !b.IsZero() && Micros(a) == Micros(b)
}
