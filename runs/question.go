package runs

import (
	"encoding/json"
	"time"
)

// Question is a question that a run waits for.
type Question struct {
	// ID is the ID of the interrupt point, Address where in the run it is.
	ID, Address string
	// Kind is approval, question, outcome, timer, run or webhook, or one of the application.
	Kind string
	// For are the users, groups and roles that may reply, as the application names them.
	For []string
	// Summary is one line for a list, at most 500 bytes.
	Summary string
	// Info is for the program that shows the question, at most 16 KiB of JSON. A longer one is left out, and Truncated set.
	Info      json.RawMessage
	Truncated bool
	// Optional: the run does not wait for this one if it has others that are not optional. Of several that are all
	// optional one reply is enough.
	Optional bool
	// Expires is the time after which a reply is refused, zero for never.
	Since, Expires time.Time
	// Answered: the question has a reply that the run has not used yet.
	Answered bool
}
