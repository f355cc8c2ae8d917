package interop

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/aisdk"
)

// reactPage serves the AI SDK, and a page of React that uses it.
func reactPage(t *testing.T) func(srv *serve.Server) http.Handler {
	t.Helper()
	if _, err := os.Stat("node_modules/@ai-sdk/react"); err != nil {
		missing(t, "npm package @ai-sdk/react", installNPM)
	}
	script := filepath.Join(t.TempDir(), "page.js")
	out, err := exec.Command("node_modules/.bin/esbuild", "testdata/usechat.jsx", "--bundle", "--jsx=automatic", "--outfile="+script).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return func(srv *serve.Server) http.Handler {
		mux := http.NewServeMux()
		h := aisdk.Handler(srv, "desk", aisdk.Config{})
		mux.Handle("/chat", h)
		mux.Handle("/chat/", h)
		mux.HandleFunc("/page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, script) })
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`<!doctype html><meta charset="utf-8"><div id="root"></div><script src="/page.js"></script>`))
		})
		return mux
	}
}

// A person talks to an agent by a page of React: approves, has the answer made again, stops it, and asks on.
func TestUseChat_InABrowser(t *testing.T) {
	page := reactPage(t)
	b := newBrowser(t)
	_, url := serving(t, serve.Config{}, asking(t), page,
		adktest.Streams("Wait. ").Calling(adktest.Call("look", `{}`)), adktest.Says("It is sunny."),
		adktest.Streams("Again. ").Calling(adktest.Call("look", `{}`)), adktest.Says("It stays dark."),
		adktest.Streams("word ", "word ").ThenBlocks(), adktest.Says("Short."))
	b.do(chromedp.Navigate(url))
	b.sees("status ready")
	say := func(text string) { b.do(chromedp.SendKeys("#input", text), chromedp.Click("#send")) }
	say("Look!")
	b.sees("[look approval-requested")
	b.do(chromedp.Click("#approve"))
	b.sees("assistant: Wait. [look output-available sunny]It is sunny.")
	b.do(chromedp.Click("#again"))
	b.sees("assistant: Again. [look approval-requested")
	b.do(chromedp.Click("#reject"))
	b.sees("It stays dark.")
	say("Tell me all!")
	b.sees("assistant: word word")
	b.do(chromedp.Click("#stop"))
	b.sees("status ready")
	say("In short!")
	b.sees("assistant: Short.")
	b.sees("status ready")
	b.shoot("usechat")
}
