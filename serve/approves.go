package serve

import (
	"bytes"
	"encoding/json"
)

// Approves reports whether an object of a client says, by a member of a name, a JSON true, and nothing else: neither a text
// "true", nor the name in other letters, nor the member twice. It is for protocols that have approvals of their own, whose
// answers [Caller.Answer] is then given as {"approve": …}. Members of other names do not matter.
func Approves(object json.RawMessage, name string) bool {
	d := json.NewDecoder(bytes.NewReader(object))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return false
	}
	approved, seen := false, 0
	for d.More() {
		member, err := d.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return false
		}
		if member == name {
			seen++
			approved = string(value) == "true"
		}
	}
	if _, err := d.Token(); err != nil { // the end of the object
		return false
	}
	return approved && seen == 1 && !d.More()
}
