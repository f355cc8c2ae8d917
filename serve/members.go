package serve

import (
	"bytes"
	"encoding/json"
	"io"
)

// Members are the members of an object of a client, by their very names: unlike those that a struct is decoded from, which
// may be written in other letters. An object that has one twice is refused: what it says would depend on who reads it.
//
// It is for protocols whose clients approve calls: only a JSON true, under the name that the protocol has for it, approves.
func Members(object json.RawMessage) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, NewProblem(BadRequest, "an object is expected")
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if _, twice := members[name]; err != nil || !ok || twice {
			return nil, NewProblem(BadRequest, "an object is no JSON, or has a member twice")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, NewProblem(BadRequest, "a member is no JSON")
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, NewProblem(BadRequest, "an object has no end")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, NewProblem(BadRequest, "something follows an object")
	}
	return members, nil
}
