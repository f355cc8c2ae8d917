package chaostest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// What a step does. All of them but clerk and inner book their name at the bank.
const (
	doPay   = "pay"   // must not be made twice, and can find out what became of it
	doRisk  = "risk"  // must not be made twice, and has to ask a person what became of it
	doBook  = "book"  // may be made again
	doAsk   = "ask"   // asks a person
	doBrief = "brief" // asks a person, and takes no answer after a while
	doHook  = "hook"  // waits for another program
	doSleep = "sleep" // waits for a time
	doClerk = "clerk" // waits for a run of another agent
	doInner = "inner" // is carried out by an agent inside the run
)

// step is one tool call of a run.
type step struct {
	Do string
	// Name names the thing that is booked, or asked about: no two steps of a round have the same.
	Name string
	// Then is the plan of a clerk or inner agent.
	Then plan `json:",omitempty"`
}

// plan lists the calls of a run: the calls of its first answer, the calls of the next one, and so on. The user message of
// a run is its plan as JSON, and its model makes the calls.
type plan [][]step

// planOf reads a plan out of a message.
func planOf(message string) (p plan, err error) {
	if err = json.Unmarshal([]byte(message), &p); err != nil {
		err = fmt.Errorf("the message %q is no plan: %w", message, err)
	}
	return p, err
}

// text is the plan as a message.
func (p plan) text() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // it has texts only
	}
	return string(data)
}

// each calls f with every step of the plan, and of those inside. inChild says that another run carries it out.
func (p plan) each(f func(s step, inChild bool)) { p.walk(false, f) }

func (p plan) walk(inChild bool, f func(s step, inChild bool)) {
	for _, calls := range p {
		for _, s := range calls {
			f(s, inChild)
			s.Then.walk(inChild || s.Do == doClerk, f)
		}
	}
}

// children is the number of runs that the run of a plan waits for by itself.
func (p plan) children() (n int) {
	for _, calls := range p {
		for _, s := range calls {
			switch s.Do {
			case doClerk:
				n++
			case doInner:
				n += s.Then.children()
			}
		}
	}
	return n
}

// outcome returns what a run says in the end: how many user messages it has seen, and what its calls returned.
func outcome(asked int, results []string) string {
	return fmt.Sprintf("%d[%s]", asked, strings.Join(results, " "))
}

// says returns what the run of a plan should say in the end. answers are those that people were told were taken, by the
// name of the question.
func (p plan) says(asked int, answers map[string]string) string {
	var results []string
	for _, calls := range p {
		for _, s := range calls {
			switch answer := answers[s.Name]; {
			case s.Then != nil:
				results = append(results, s.Then.says(1, answers))
			case answer != "":
				results = append(results, answer)
			case s.Do == doBrief:
				results = append(results, nobody)
			default:
				results = append(results, receipt(s.Do, s.Name))
			}
		}
	}
	return outcome(asked, results)
}

// The result of a question that was not answered in time.
const nobody = "nobody"

// receipt returns the answer of the bank to a booking.
func receipt(do, name string) string { return do + ":" + name }
