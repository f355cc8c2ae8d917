package temporalengine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames_AreThoseOfOneTenantAndOneRun, whatever tenants, runs and queues are called.
// Rule temporal/W2.
func TestNames_AreThoseOfOneTenantAndOneRun(t *testing.T) {
	long := strings.Repeat("x", 2000)
	texts := []string{"a", "b", "a/b", "a#b", "#a", "%23a", "a\x00", "a%00", "\xff", "é", "acme#a", "#", "##", "%", "/", long}
	workflows, queues := map[string]bool{}, map[string]bool{}
	for _, tenant := range append([]string{""}, texts...) {
		n := (&RunOptions{TaskQueue: "weft", IDPrefix: "weft/", Tenant: tenant}).names()
		for _, text := range texts {
			id, queue := n.workflow(text), n.queue(text)
			require.Less(t, len(id), 1000)
			require.False(t, workflows[id], "%q of %q: %q", text, tenant, id)
			require.False(t, queues[queue], "%q of %q: %q", text, tenant, queue)
			workflows[id], queues[queue] = true, true
			run, ours := n.run(id)
			require.Equal(t, text != long, ours)
			if ours {
				require.Equal(t, text, run)
			}
		}
	}
	n := names{"weft", "weft/", "acme"}
	require.Equal(t, "weft/acme#ticket-7", n.workflow("ticket-7"))
	require.Equal(t, "weft#acme/gpu", n.queue("gpu"))
	_, ours := names{"weft", "weft/", ""}.run("weft/acme#ticket-7")
	require.False(t, ours, "another tenant's")
	require.Equal(t, "weft/ticket-7", names{"weft", "weft/", ""}.workflow("ticket-7"))
}
