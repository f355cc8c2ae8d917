package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// errMore says that something stands behind a value.
var errMore = errors.New("there is more than one value")

// operation is a step of a JSON Patch (RFC 6902).
type operation struct {
	Op   string
	Path string
	// Value is the new value, for "add" and "replace".
	Value any
}

// MarshalJSON leaves the value out of operations that have none: null is a value.
func (o operation) MarshalJSON() ([]byte, error) {
	if o.Op == "remove" {
		return json.Marshal(map[string]string{"op": o.Op, "path": o.Path})
	}
	return json.Marshal(map[string]any{"op": o.Op, "path": o.Path, "value": o.Value})
}

// decoded is JSON as a value whose numbers keep all of their digits.
func decoded(data []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err = d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errMore
	}
	return value, nil
}

// diff appends what makes one decoded value of another, both at a path. Members of objects are compared one by one, items
// of lists of one length, too; to a list that has become longer the new ones are added. Other lists are replaced.
func diff(ops []operation, path string, from, to any) []operation {
	switch f := from.(type) {
	case map[string]any:
		if t, ok := to.(map[string]any); ok {
			return diffObjects(ops, path, f, t)
		}
	case []any:
		if t, ok := to.([]any); ok && len(f) <= len(t) {
			return diffLists(ops, path, f, t)
		}
	}
	if reflect.DeepEqual(from, to) {
		return ops
	}
	return append(ops, operation{Op: "replace", Path: path, Value: to})
}

func diffObjects(ops []operation, path string, from, to map[string]any) []operation {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, stays := to[name]; !stays {
			ops = append(ops, operation{Op: "remove", Path: path + "/" + pointer.Replace(name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		at := path + "/" + pointer.Replace(name)
		if before, was := from[name]; was {
			ops = diff(ops, at, before, to[name])
		} else {
			ops = append(ops, operation{Op: "add", Path: at, Value: to[name]})
		}
	}
	return ops
}

func diffLists(ops []operation, path string, from, to []any) []operation {
	for i, item := range to {
		if i < len(from) {
			ops = diff(ops, path+"/"+strconv.Itoa(i), from[i], item)
		} else {
			ops = append(ops, operation{Op: "add", Path: path + "/-", Value: item})
		}
	}
	return ops
}

// pointer makes a name a part of a JSON Pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
