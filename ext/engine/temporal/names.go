package temporalengine

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/adk/checkpoint"
)

// longestID is how long the part of a workflow's ID may be that names the run. Temporal takes 1,000 bytes in all.
const longestID = 900

// workflowID names the workflow of a run: no two runs have the same. IDs of runs are any bytes, those of workflows are
// text. What is no printable text is written as %XX, and a run whose ID is very long is named by its hash.
func workflowID(prefix, run string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(run); {
		r, size := utf8.DecodeRuneInString(run[i:])
		if r == '%' || r == '#' || r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			for _, c := range []byte(run[i : i+size]) {
				b.WriteByte('%')
				b.WriteByte(digits[c>>4])
				b.WriteByte(digits[c&15])
			}
		} else {
			b.WriteString(run[i : i+size])
		}
		i += size
	}
	if b.Len()+len(prefix) > longestID {
		sum := sha256.Sum256([]byte(run))
		return prefix + "#" + hex.EncodeToString(sum[:])
	}
	return prefix + b.String()
}

// runOf is the opposite of workflowID, and false for workflows of others and runs that are named by a hash.
func runOf(prefix, workflow string) (run string, ok bool) {
	text, ours := strings.CutPrefix(workflow, prefix)
	run, err := url.PathUnescape(text)
	return run, ours && err == nil && workflowID(prefix, run) == workflow
}

// Search attributes of workflows (see [Config]).
var (
	statusAttribute  = temporal.NewSearchAttributeKeyKeyword("WeftStatus")
	agentAttribute   = temporal.NewSearchAttributeKeyKeyword("WeftAgent")
	tenantAttribute  = temporal.NewSearchAttributeKeyKeyword("WeftTenant")
	waitingAttribute = temporal.NewSearchAttributeKeyKeywordList("WeftWaitingFor")
)

// show has the pages of Temporal say what the workflow knows.
func (r *run) show(ctx workflow.Context) {
	details := r.seen.Details
	if r.stretching {
		details = string(checkpoint.Running)
	}
	workflow.SetCurrentDetails(ctx, details)
	if !r.in.Options.SearchAttributes {
		return
	}
	now := r.status()
	updates := []temporal.SearchAttributeUpdate{statusAttribute.ValueSet(string(now.Status)),
		waitingAttribute.ValueSet(waitingFor(now.Waiting))}
	if now.Agent != "" {
		updates = append(updates, agentAttribute.ValueSet(now.Agent))
	}
	if r.seen.Tenant != "" {
		updates = append(updates, tenantAttribute.ValueSet(r.seen.Tenant))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("the search attributes cannot be set", "run", r.in.ID, "error", err)
	}
}

// waitingFor is whom the questions wait for that have no answer.
func waitingFor(points []Point) (people []string) {
	people = []string{}
	seen := map[string]bool{}
	for _, p := range points {
		for _, who := range p.For {
			if !p.Answered && !seen[who] {
				seen[who] = true
				people = append(people, who)
			}
		}
	}
	return people
}
