package plantask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The statuses of a task. A task that is updated to deleted is removed.
const (
	statusPending    = "pending"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusDeleted    = "deleted"
)

var statuses = []string{statusPending, statusInProgress, statusCompleted, statusDeleted}

// A task is one entry of the list, as it is stored.
type task struct {
	ID          string         `json:"id"`
	Subject     string         `json:"subject"`
	Description string         `json:"description"`
	Status      string         `json:"status"`
	Blocks      []string       `json:"blocks"`
	BlockedBy   []string       `json:"blockedBy"`
	ActiveForm  string         `json:"activeForm,omitempty"`
	Owner       string         `json:"owner,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// isID reports whether a text is the ID of a task: digits and nothing else, so that it cannot lead out of the
// directory.
func isID(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func checkID(s string) error {
	if !isID(s) {
		return fmt.Errorf("%q is no task ID: an ID is a number, such as 1", s)
	}
	return nil
}

// compareIDs orders IDs as numbers of any length.
func compareIDs(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// union adds the IDs to a list that it does not have yet, at the end.
func union(list, ids []string) []string {
	list = slices.Clone(list)
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// without is a list without an ID.
func without(list []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == id })
}

// hashed is "#1, #2".
func hashed(ids []string) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("#" + id)
	}
	return b.String()
}

// blocksItself reports whether a task waits, through any number of others, for itself.
func blocksItself(id string, tasks map[string]*task) bool {
	seen := map[string]bool{}
	var reaches func(from string) bool
	blocked := blockedBy(tasks)
	reaches = func(from string) bool {
		for _, next := range blocked[from] {
			if next == id {
				return true
			}
			if !seen[next] {
				seen[next] = true
				if reaches(next) {
					return true
				}
			}
		}
		return false
	}
	return reaches(id)
}

// blockedBy returns for each task those that wait for it. A dependency counts wherever it is written, with the one task
// or with the other.
func blockedBy(tasks map[string]*task) map[string][]string {
	edges := map[string][]string{}
	for id, t := range tasks {
		edges[id] = append(edges[id], t.Blocks...)
		for _, blocker := range t.BlockedBy {
			edges[blocker] = append(edges[blocker], id)
		}
	}
	return edges
}
