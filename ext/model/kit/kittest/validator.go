// Package kittest tests programs that talk to model providers, without the providers.
//
// It has
//   - validators, which check a request as strictly as the provider's own service and refuse it in the service's form;
//   - [Server], which validates the requests it gets and answers from a script;
//   - [RunMisbehaviours], which plays what goes wrong between a client and a service and checks what comes of it;
//   - [Cassette], which replays recorded traffic, whole, cut or split differently;
//   - [PoisonEnv], [NoSecrets] and [NoLog], which catch programs that read the environment, show a key or print.
//
// The package depends on no adapter and is for tests only. It may change until version 1.0.
package kittest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A Validator checks requests as a provider's service does.
type Validator interface {
	// Validate returns all faults of a request; nil means that the service would accept it. The body of req is not read:
	// body is what was sent.
	Validate(req *http.Request, body []byte) []Fault
	// Refuse writes the service's answer to a request with these faults: its status and its form of an error.
	Refuse(w http.ResponseWriter, faults []Fault)
}

// An Observer is a Validator that remembers what the service handed out, such as signatures and ids of items, so that
// it can refuse what comes back altered, or was never issued. Without an observed answer a validator checks the form
// of such values only.
type Observer interface {
	Validator
	// Observe learns from the body of an answer: JSON, a JSON array, server-sent events or event-stream frames. Even an
	// empty answer makes the validator refuse from then on what it was not shown: do that first, when all that the
	// history has comes from other services.
	Observe(answer []byte)
}

// A Fault is one reason to refuse a request.
type Fault struct {
	Path string // place in the body, like messages[2].content[0].id; or "header X", "url"
	Rule string // code of the rule, like K12: stable, for tests
	Text string // what is wrong
}

func (f Fault) String() string { return fmt.Sprintf("%s: %s (%s)", f.Path, f.Text, f.Rule) }

// describe joins faults for the message of a refusal.
func describe(faults []Fault) string {
	texts := make([]string, len(faults))
	for n, f := range faults {
		texts[n] = f.String()
	}
	return strings.Join(texts, "; ")
}

// writeJSON writes an answer.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// refuseAsOpenAI writes a refusal in OpenAI's form.
func refuseAsOpenAI(w http.ResponseWriter, status int, faults []Fault) {
	param := any(nil)
	if len(faults) > 0 {
		param = faults[0].Path
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": describe(faults), "type": "invalid_request_error", "param": param, "code": nil,
	}})
}
