package kittest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// answerValues returns the JSON objects of an answer in order: the body itself, the elements of a list, the data of
// server-sent events, the lines of NDJSON or the payloads of event-stream frames. What is no JSON is skipped.
func answerValues(answer []byte) (values []node) {
	add := func(data []byte) {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var value any
		if dec.Decode(&value) != nil {
			return
		}
		n := node{value: value, report: new(report)}
		if n.isList() {
			values = append(values, n.list()...)
		} else {
			values = append(values, n)
		}
	}
	if frames, err := framePayloads(answer); err == nil {
		for _, frame := range frames {
			add(frame)
		}
		return values
	}
	text := strings.TrimPrefix(string(answer), "\ufeff")
	if json.Valid([]byte(text)) {
		add([]byte(text))
		return values
	}
	r := bufio.NewReader(strings.NewReader(text))
	for {
		line, err := r.ReadString('\n')
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
			add([]byte(line))
		}
		if err == io.EOF {
			return values
		}
	}
}
