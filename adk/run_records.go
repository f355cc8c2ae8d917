package adk

import (
	"crypto/rand"
	"fmt"

	"github.com/weftgo/weft/adk/internal/journal"
)

// RunRecords makes the beginning of the journal of a run that another process is to begin: the Records of a
// runs.Spec. The process that resumes that run, with a [Runner] on a store of runs, begins it with this input and
// these session values. What is in them must be of registered types (see schema.RegisterName).
//
// Package adk/dispatch submits runs with it.
func RunRecords[M MessageType](input *TypedAgentInput[M], sessionValues map[string]any) ([][]byte, error) {
	if input == nil || len(input.Messages) == 0 {
		return nil, fmt.Errorf("a run cannot be submitted without a message")
	}
	d := new(runDocument)
	_, _ = rand.Read(d.Seed[:]) // never fails
	err := setInput(d, input)
	if err == nil {
		err = d.setValues(sessionValues)
	}
	var sealed []byte
	if err == nil {
		sealed, err = d.seal()
	}
	if err != nil {
		return nil, fmt.Errorf("a run cannot be submitted: %w", err)
	}
	var draft journal.Draft
	err = draft.Begin(sealed)
	return draft.Records, err
}

// DecodeResult reads the result of a run that is done, which runs.Inspector returns: its last message, nil if
// there was none, and the agent that said it.
func DecodeResult[M MessageType](result []byte) (message M, agent string, err error) {
	if len(result) == 0 {
		return message, "", nil
	}
	end, err := journal.DecodeEnd(result)
	if err != nil {
		return message, "", err
	}
	message, ok := end.Message.(M)
	if !ok && end.Message != nil {
		return message, end.Agent, fmt.Errorf("the result of the run is %T, not %T", end.Message, message)
	}
	return message, end.Agent, nil
}
