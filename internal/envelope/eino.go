package envelope

import "bytes"

// WrittenByEino recognises checkpoints of Eino among bytes that have no envelope of Weft's: gob streams, which begin with
// the names of a struct and its fields, and JSON with the names of registered types. Code that reads checkpoints reports
// them with advice: see EinoAdvice.
func WrittenByEino(data []byte) bool {
	return bytes.Contains(data, []byte("_eino_")) ||
		bytes.Contains(data, []byte("serialization")) && bytes.Contains(data, []byte("RunCtx"))
}

// EinoAdvice says what to do about a checkpoint of Eino's.
const EinoAdvice = "it was written by Eino, whose checkpoints cannot be read here: " +
	"finish the runs that are pending with Eino first, or start them anew"
