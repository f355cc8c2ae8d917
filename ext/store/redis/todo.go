package redis

import (
	"encoding/json"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// todo holds the changes that other runs still need.
type todo struct {
	Children []runs.Child
	Parent   string
	Answer   *runs.Reply
}

// savedTodo is a todo as it is written. Names may have any bytes (storekit.Escape); larger parts are written as rows
// are: a child as the row that it will have, the answer as an answer in a row.
type savedTodo struct {
	Children []savedChild    `json:"children,omitempty"`
	Parent   string          `json:"parent,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
}

type savedChild struct {
	Row     json.RawMessage `json:"row"`
	Records [][]byte        `json:"records,omitempty"`
}

func (t *todo) encode() ([]byte, error) {
	saved := savedTodo{Parent: storekit.Escape(t.Parent)}
	for _, child := range t.Children {
		run := &child.Run
		row := storekit.Row{ParentPoint: run.ParentPoint, Run: runs.Info{ID: child.ID, Agent: run.Agent, Queue: run.Queue,
			Parent: run.Parent, Key: run.Key, Tags: run.Tags, Priority: run.Priority, WakeAt: run.NotBefore, Deadline: run.Deadline,
			Build: run.Build, Trace: run.Trace}}
		data, err := row.Encode()
		if err != nil {
			return nil, err
		}
		saved.Children = append(saved.Children, savedChild{data, run.Records})
	}
	if t.Answer != nil {
		row := storekit.Row{Answers: []runs.Reply{*t.Answer}}
		data, err := row.Encode()
		if err != nil {
			return nil, err
		}
		saved.Answer = data
	}
	return json.Marshal(saved)
}

func decodeTodo(data []byte) (*todo, error) {
	var saved savedTodo
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	t := &todo{Parent: storekit.Unescape(saved.Parent)}
	for _, child := range saved.Children {
		row, err := storekit.DecodeRow(child.Row)
		if err != nil {
			return nil, err
		}
		i := &row.Run
		t.Children = append(t.Children, runs.Child{ID: i.ID, Run: runs.Spec{Agent: i.Agent, Queue: i.Queue,
			Parent: i.Parent, ParentPoint: row.ParentPoint, Key: i.Key, Tags: i.Tags, Priority: i.Priority, NotBefore: i.WakeAt,
			Deadline: i.Deadline, Build: i.Build, Trace: i.Trace, Records: child.Records}})
	}
	if len(saved.Answer) > 0 {
		row, err := storekit.DecodeRow(saved.Answer)
		if err != nil {
			return nil, err
		}
		if len(row.Answers) > 0 {
			t.Answer = &row.Answers[0]
		}
	}
	return t, nil
}
