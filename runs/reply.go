package runs

import "time"

// Reply has the reply of a person or a program to a [Question].
type Reply struct {
	// Point is the ID of the question.
	Point string
	// Data is the value: JSON, or a value that the type registry has encoded (JSON is false then). nil says nothing but that
	// the run may continue.
	Data []byte
	JSON bool
	// By names the person who replied, in the application's terms. At is the time, which the store sets.
	By string
	At time.Time
}

// JSONReply is the value of a reply as JSON, of a sender that does not know the Go type that the question waits for.
type JSONReply []byte
