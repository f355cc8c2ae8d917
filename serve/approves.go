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

// Members are the members of an object of a client, by their very names: unlike those that a struct is decoded from, which
// may be written in other letters. An object that has one twice is refused: what it says would depend on who reads it.
func Members(object json.RawMessage) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, problem(BadRequest, "an object is expected")
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if _, twice := members[name]; err != nil || !ok || twice {
			return nil, problem(BadRequest, "an object is no JSON, or has a member twice")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, problem(BadRequest, "a member is no JSON")
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil || d.More() {
		return nil, problem(BadRequest, "something follows an object")
	}
	return members, nil
}
