package adk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestRunRecords_BeginARunThatAnotherProcessResumes.
// Rule distributed/D3.
func TestRunRecords_BeginARunThatAnotherProcessResumes(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	records, err := RunRecords(&AgentInput{Messages: []Message{schema.UserMessage("hi")}}, map[string]any{"who": "ana"})
	require.NoError(t, err)
	_, err = store.Submit(t.Context(), "1", runs.Spec{Agent: "a", Records: records})
	require.NoError(t, err)

	m := recall(chatAnswer("hello"))
	r := leased(t, newOrdinary(t, "a", m), store)
	lease, err := store.AcquireDue(t.Context(), runs.LeaseRequest{Owner: "worker"}, runs.Due{})
	require.NoError(t, err)
	require.NoError(t, lease.Settle(t.Context(), runs.Settlement{}))
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"a: hello"}, texts)

	result, err := store.Result(t.Context(), "1")
	require.NoError(t, err)
	message, agent, err := DecodeResult[Message](result)
	require.NoError(t, err)
	require.Equal(t, "hello", message.Content)
	require.Equal(t, "a", agent)
	_, _, err = DecodeResult[*schema.AgenticMessage](result)
	require.ErrorContains(t, err, "not *schema.AgenticMessage")
	_, _, err = DecodeResult[Message]([]byte("damaged"))
	require.ErrorContains(t, err, "no end of a run")
}

func TestRunRecords_RefusesWhatCannotBeSaved(t *testing.T) {
	_, err := RunRecords[Message](nil, nil)
	require.ErrorContains(t, err, "without a message")
	_, err = RunRecords(&AgentInput{Messages: []Message{schema.UserMessage("hi")}}, map[string]any{"x": make(chan int)})
	require.ErrorContains(t, err, `session value "x"`)
}
