package drawing

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nasty are texts that break pictures which are written carelessly.
var nasty = []string{
	`end`, `START`, `say "hi"`, `a[0] {b} (c) |d| <e>`, `<script>alert(1)</script>`, "two\nlines",
	"dos\r\nlines", `back\slash\n`,
	`&lt;b&gt; &amp;`, `#35; #quot;`, "`code` **bold** _it_ ~~gone~~", `1. one`, `2) two`, `- item`,
	`+ item`, `style a:b#c;`, `classDef x:y#z;`,
	`%% comment`, `%%{init: {"theme":"dark"}}%%`, `a --> b`, `subgraph`, `click me`, `日本語 für Élise`,
	`🙂 emoji`, "nul\x00 bell\x07",
	"bad \xff utf8", `fa:fa-cog`, `$$x^2$$`, `\N \G \L`, ` spaces `, ``, `graph`, `o--x`,
	`ﬂ°°34¶ß`, "rtl \u202e mark", `___`, `;`,
	`https://example.com`, `www.example.com`, `Name <br/> x`, `@{shape: rect}`, `:::class`,
}

func picture(texts ...string) *Picture {
	p, ids := &Picture{}, &IDs{}
	g := &Group{ID: ids.New("n_", "group"), Text: texts[:1]}
	p.Groups = []*Group{g}
	for i, text := range texts {
		n := Node{ID: ids.New("n_", text), Text: []string{text}, Shape: Shape(i % 4)}
		if i%3 == 0 {
			g.Nodes = append(g.Nodes, n)
			g.First, g.Last = n.ID, n.ID
		} else {
			p.Nodes = append(p.Nodes, n)
			p.Edges = append(p.Edges, Edge{From: n.ID, To: g.ID, Text: []string{text}, Line: Line(i % 3), Both: i%2 == 0})
		}
	}
	return p
}

func TestPicture_IsWrittenInBothLanguages(t *testing.T) {
	p := picture("a", "b", "c\nd", "")
	require.Equal(t, `flowchart TD
    n_b(["b"])
    n_c_d{"c<br/>d"}
    subgraph n_group["a"]
        n_a["a"]
        n_(" ")
    end
    n_b -.->|"b"| n_group
    n_c_d <==>|"c<br/>d"| n_group
`, p.Mermaid())
	p.Rightwards = true
	require.Equal(t, `digraph {
	compound=true
	rankdir=LR
	node [shape=box, fontname="sans-serif"]
	edge [fontname="sans-serif"]
	n_b [label="b", shape=oval]
	n_c_d [label="c\nd", shape=diamond]
	subgraph cluster_n_group {
		label="a"
		n_a [label="a"]
		n_ [label="", style=rounded]
	}
	n_b -> n_ [lhead=cluster_n_group, label="b", style=dashed]
	n_c_d -> n_ [lhead=cluster_n_group, label="c\nd", style=bold, dir=both]
}
`, p.DOT())
	require.Contains(t, p.Mermaid(), "flowchart LR\n")
}

func TestIDs_AreUniqueWordsOfNeitherLanguage(t *testing.T) {
	var ids IDs
	seen := map[string]bool{}
	for _, name := range append(nasty, nasty...) {
		id := ids.New("n_", name)
		require.Regexp(t, `^n_[A-Za-z0-9_]*$`, id)
		require.False(t, seen[id], "%q", id)
		seen[id] = true
	}
}

var (
	mermaidPlain  = regexp.MustCompile(`^"(?:[A-Za-z0-9 _\-.,()/?'→]|[^\x00-\x7f]|<br/>|#[0-9]+;)*"$`)
	mermaidNumber = regexp.MustCompile(`#[0-9]+;`)
)

// readMermaid is the text that a browser shows for one that Mermaid has parsed.
func readMermaid(t *testing.T, quoted string) string {
	t.Helper()
	require.Regexp(t, mermaidPlain, quoted)
	text := strings.ReplaceAll(quoted[1:len(quoted)-1], "<br/>", "\n")
	return mermaidNumber.ReplaceAllStringFunc(text, func(number string) string {
		n, err := strconv.Atoi(number[1 : len(number)-1])
		require.NoError(t, err)
		return string(rune(n))
	})
}

// readDOT is the text that Graphviz draws.
func readDOT(t *testing.T, quoted string) string {
	t.Helper()
	require.Regexp(t, `^"(?:[^"\\\n]|\\["\\n])*"$`, quoted)
	text := strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(quoted[1 : len(quoted)-1])
	return strings.ReplaceAll(text, "&amp;", "&")
}

func checkText(t *testing.T, text string) {
	t.Helper()
	want := strings.Join(eachLine([]string{text}), "\n")
	shown := readMermaid(t, mermaidText([]string{text}))
	if want == "" {
		shown = strings.TrimSpace(shown) // which no text of Mermaid may be
	}
	require.Equal(t, want, shown)
	require.Equal(t, want, readDOT(t, dotText([]string{text})))
}

func TestText_IsShownAsItIs(t *testing.T) {
	for _, text := range nasty {
		checkText(t, text)
	}
	require.Equal(t, []string{"a", "b", "c", "", "nul\uFFFD \uFFFDx"},
		eachLine([]string{"a\nb", "c\r\n", "nul\x00 \xffx"}), "what cannot be printed is replaced")
}

func FuzzText(f *testing.F) {
	for _, text := range nasty {
		f.Add(text)
	}
	f.Fuzz(checkText)
}
