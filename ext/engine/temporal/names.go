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

	"github.com/weftgo/weft/runs"
)

// longestID limits the part of a workflow's ID that names the run. Temporal takes 1,000 bytes in all.
const longestID = 900

// longestTenant limits the name of a tenant in names. A longer one is named by its hash.
const longestTenant = 200

// names makes the names of one tenant's workflows, task queues and schedules in Temporal. No two tenants share one, and
// no two runs: what is not plain text is written as %XX, and # separates the tenant from what follows.
//
//	             without a tenant   of the tenant acme
//	a workflow   weft/ticket-7      weft/acme#ticket-7
//	a queue      weft, weft/gpu     weft#acme, weft#acme/gpu
//	a schedule   weft/reconcile     weft/acme#reconcile
type names struct{ taskQueue, idPrefix, tenant string }

func (o *RunOptions) names() names { return names{o.TaskQueue, o.IDPrefix, o.Tenant} }

// prefix begins the IDs of the tenant's workflows.
func (n names) prefix() string {
	if n.tenant == "" {
		return n.idPrefix
	}
	return n.idPrefix + n.encodedTenant() + "#"
}

// workflow names the workflow of a run. A run whose ID is very long is named by its hash.
func (n names) workflow(run string) string {
	prefix, text := n.prefix(), encode(run, "%#")
	if len(prefix)+len(text) > longestID {
		sum := sha256.Sum256([]byte(run))
		return prefix + "#" + hex.EncodeToString(sum[:])
	}
	return prefix + text
}

// run is the opposite of workflow, and false for workflows of others and runs that are named by a hash.
func (n names) run(workflow string) (run string, ok bool) {
	text, ours := strings.CutPrefix(workflow, n.prefix())
	run, err := url.PathUnescape(text)
	return run, ours && err == nil && n.workflow(run) == workflow
}

// queue is the task queue of a dispatch.Job.Queue.
func (n names) queue(queue string) string {
	base := n.taskQueue
	if n.tenant != "" {
		base += "#" + n.encodedTenant()
	}
	if queue == "" {
		return base
	}
	return base + "/" + queue
}

// encodedTenant is the tenant as text, and its hash if it is very long.
func (n names) encodedTenant() string {
	text := encode(n.tenant, "%#/")
	if len(text) > longestTenant {
		sum := sha256.Sum256([]byte(n.tenant))
		return "#" + hex.EncodeToString(sum[:])
	}
	return text
}

// encode writes what is not printable text as %XX, and so the special characters.
func encode(text, special string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if strings.ContainsRune(special, r) || r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			for _, c := range []byte(text[i : i+size]) {
				b.WriteByte('%')
				b.WriteByte(digits[c>>4])
				b.WriteByte(digits[c&15])
			}
		} else {
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
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
	if r.attempting {
		details = string(runs.Running)
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
func waitingFor(points []Question) (people []string) {
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
