package conversation

import (
	"errors"
	"slices"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Status is the state of a turn: see the table of the package.
type Status string

// The states of a turn that is open or was kept. One that was discarded is not in a conversation.
const (
	Running Status = "running"
	Waiting Status = "waiting"
	Kept    Status = "kept"
)

// Kind names the kind of a turn. The words are in stores: they do not change.
type Kind string

const (
	// Exchange is a question, and what the agents said until the answer. It is the default.
	Exchange Kind = "exchange"
	// Note is something that was said without an agent answering: by a person, or another system.
	Note Kind = "note"
	// Compaction stands for all turns up to the one that it covers, in histories.
	Compaction Kind = "compaction"
	// Rewind leaves the turns behind the one that it covers out of the conversation.
	Rewind Kind = "rewind"
)

// Turn is a question and what the agents said until the answer, or up to now; or a note; or a summary of turns. It is a
// value: what changes a turn are the methods of [Claim].
type Turn struct {
	// ID is the turn's, and the ID of the checkpoint of its run.
	ID     string
	Kind   Kind
	Status Status
	// Position is the place where it is on its branch. The position of an open turn is the head when it began.
	Position Position
	// Asked are the messages that the turn began with, Said what the agents have said, in order, with their authors.
	Asked []*schema.Message
	Said  []adk.HistoryEntry
	// Partial holds the unfinished answers of agents when the turn stopped. A run that is resumed says it again;
	// a turn that is kept as it is has it at the end of Said (see [IsIncomplete]).
	Partial []adk.HistoryEntry
	// Entry is the agent that the turn began with, Agent the one that it was handed over to since. "" is the runner's.
	Entry, Agent string
	// Questions lists the questions that a turn waits for.
	Questions []runs.Question
	// Covers is the last turn that a compaction stands for, or that a rewind goes back to.
	Covers Position
	// Usage is the usage of the models, summed up.
	Usage schema.TokenUsage
	Tags  map[string]string
	// Began is the time at which the turn began, Changed when it came to its status.
	Began, Changed time.Time
}

// Messages are the messages of the turn, the question first.
func (t *Turn) Messages() []*schema.Message {
	all := slices.Clone(t.Asked)
	for _, said := range t.Said {
		all = append(all, said.Message)
	}
	return all
}

// incompleteKey is the place where the Extra of a message says that it is a part of what the agent was about to say.
const incompleteKey = "_weft_incomplete"

// IsIncomplete reports whether a message that a conversation keeps is the beginning of an answer that broke off: the run was
// stopped, its reader left, or its model failed. Models are sent it as it is.
func IsIncomplete(m *schema.Message) bool { return m != nil && m.Extra[incompleteKey] != nil }

// Incomplete makes the entry of an answer that broke off behind a text, for [Progress].Partial. What only whole answers
// have, such as calls and signed thoughts, is not in it: a model takes it as something that was said.
func Incomplete(agent, text string) adk.HistoryEntry {
	m := schema.AssistantMessage(text, nil)
	m.Extra = map[string]any{incompleteKey: "yes"}
	return adk.HistoryEntry{AgentName: agent, Message: m}
}

// entries are the messages of the turn with their authors.
func (t *Turn) entries() (entries []adk.HistoryEntry) {
	for _, m := range t.Asked {
		entries = append(entries, adk.HistoryEntry{IsUserInput: true, Message: m})
	}
	return append(entries, t.Said...)
}

func init() {
	err := errors.Join(serialization.GenericRegister[Turn]("weft.conversation.turn"),
		serialization.GenericRegister[runs.Question]("weft.conversation.question"))
	if err != nil {
		panic(err)
	}
}

// EncodeTurn makes bytes of a turn for a store: all of its messages, with the data of their providers. The Info of a question
// is kept as JSON.
func EncodeTurn(t Turn) ([]byte, error) {
	return new(serialization.InternalSerializer).Marshal(t)
}

// DecodeTurn reads a turn that [EncodeTurn] has written, with this release or an earlier one.
func DecodeTurn(data []byte) (t Turn, err error) {
	err = new(serialization.InternalSerializer).Unmarshal(data, &t)
	return t, err
}
