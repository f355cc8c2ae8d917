package interop

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// webchat is the example of that name, as its users run it: a process of its own.
type webchat struct {
	t            *testing.T
	program, dir string
	address      string
	process      *exec.Cmd
}

func newWebchat(t *testing.T) *webchat {
	t.Helper()
	w := &webchat{t: t, program: filepath.Join(t.TempDir(), "webchat"), dir: t.TempDir()}
	build := exec.Command("go", "build", "-o", w.program, "./webchat")
	build.Dir, build.Env = "../examples", append(os.Environ(), "GOWORK=") // in the workspace
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = free.Addr().String()
	require.NoError(t, free.Close())
	w.start()
	t.Cleanup(w.stop)
	return w
}

// start starts the server, and waits until it listens.
func (w *webchat) start() {
	w.t.Helper()
	w.process = exec.Command(w.program, "-addr", w.address, "-data", w.dir)
	for _, v := range os.Environ() { // the demo model
		if !strings.Contains(v, "_API_KEY=") && !strings.Contains(v, "_BASE_URL=") {
			w.process.Env = append(w.process.Env, v)
		}
	}
	log, err := w.process.StderrPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, w.process.Start())
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening on") {
			go func() {
				for lines.Scan() {
				}
			}()
			return
		}
	}
	w.t.Fatal("the server does not listen")
}

func (w *webchat) stop() {
	if w.process == nil {
		return
	}
	_ = w.process.Process.Signal(os.Interrupt)
	_ = w.process.Wait()
	w.process = nil
}

// kill ends the server as a crash does.
func (w *webchat) kill() {
	require.NoError(w.t, w.process.Process.Kill())
	_ = w.process.Wait()
	w.process = nil
}

// browser is a page in a headless browser.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser opens the browser. The test skips without one.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "chromium", "install the package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(path))
	allocated, free := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocated)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // to build the example takes a while where nothing is cached
	t.Cleanup(func() { cancel(); closeTab(); free() })
	return &browser{t, ctx}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// sees waits until the page shows a text.
func (b *browser) sees(text string) {
	b.t.Helper()
	shown, err := "", error(nil)
	for range 400 {
		if shown, err = chromedp.Run(b.ctx, chromedp.Text("body")); err == nil && strings.Contains(shown, text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("the page does not show %q: %v\n%s", text, err, shown)
}

// shoot takes a picture of the page, for people: it is kept if WEFT_SCREENSHOTS names a directory.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("WEFT_SCREENSHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}

// emulate has the page be of a size, and light or dark.
func emulate(width, height int64, scheme string) chromedp.Action[chromedp.Void] {
	size := chromedp.EmulateViewport(width, height)
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := size(ctx, t); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
}

// says types and enters a message.
func (b *browser) says(text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys("#input", text), press("Enter", 13))
}

// press presses and releases a key.
func press(key string, code int64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{
				Type: kind, Key: key, Code: key, WindowsVirtualKeyCode: code, NativeVirtualKeyCode: code}); err != nil {
				return err
			}
		}
		return nil
	})
}

// focused is the ID, or the text, of what has the focus.
func (b *browser) focused() string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.activeElement.id || document.activeElement.textContent"))
	require.NoError(b.t, err)
	return text
}

// A person talks to an agent in a browser, by keyboard: sees its calls, approves after the server was restarted, and
// stops it.
func TestWebchat_InABrowser(t *testing.T) {
	b := newBrowser(t)
	w := newWebchat(t)
	b.do(emulate(900, 700, "light"), chromedp.Navigate("http://"+w.address))
	b.sees("New chat")
	b.says("How is the weather?")
	b.sees("It is 23 degrees and sunny in Lisbon.")
	b.sees("weather ✓")
	b.says("I want my money back.")
	b.sees("May refund run with")
	b.shoot("light-approval")

	w.stop()
	w.start()
	b.do(chromedp.Reload())
	b.sees("How is the weather?")
	b.sees("May refund run with")
	b.shoot("restarted")
	b.decides(".ask button.main")
	b.sees("Done: 40 euros are on their way.")

	b.do(emulate(390, 700, "dark"))
	b.says("Tell me a story.")
	b.sees("It wove a thread")
	b.shoot("dark-narrow-running")
	b.do(chromedp.Click("#stop"))
	b.sees("Stopped.")
	b.says("And now?")
	b.sees("have me tell a story and stop me.")
	b.shoot("dark-narrow")
	lost, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!document.querySelector('.note.bad')"))
	require.NoError(t, err)
	require.False(t, lost, "nothing went wrong")

	wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > innerWidth"))
	require.NoError(t, err)
	require.False(t, wide, "a narrow page does not scroll sideways")
	b.do(chromedp.Click("#new"), chromedp.WaitNotPresent("#log .message"))
}

// A page that is loaded again while the agent writes shows the answer from its beginning, and goes along with it. The
// Escape key stops it, and a call that was rejected is not made.
func TestWebchat_ShowsAnAnswerThatIsBeingWritten(t *testing.T) {
	b := newBrowser(t)
	w := newWebchat(t)
	b.do(emulate(900, 700, "light"), chromedp.Navigate("http://"+w.address))
	b.sees("New chat")
	require.Equal(t, "input", b.focused())
	b.do(press("Tab", 9))
	require.Equal(t, "send", b.focused(), "behind the message comes its button")
	b.says("Tell me a story.")
	b.sees("It wove a thread")
	b.do(chromedp.Reload())
	b.sees("Tell me a story.")
	b.sees("Once upon a time")
	b.sees("It wove a thread")
	b.shoot("loaded-again")
	b.do(press("Escape", 27))
	b.sees("Stopped.")

	b.says("I want my money back.")
	b.sees("May refund run with")
	require.Equal(t, "input", b.focused(), "a question takes no focus")
	b.decides(".ask button:not(.main)")
	b.sees("Rejected.")
	b.sees("rejected this call")

	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("http://"+w.address+"/#no%20thread"))
	b.says("Hi")
	b.sees("a thread is named by")
	b.shoot("error")
}

// decides presses a button of a question, as soon as that can be pressed.
func (b *browser) decides(button string) {
	b.t.Helper()
	b.until("!!document.querySelector('" + button + ":enabled')")
	b.do(chromedp.SendKeys(button, "\n"))
}

// until waits until an expression is true in the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](condition))
		return err == nil && ok
	}, 2*time.Minute, 20*time.Millisecond, condition)
}

// evaluate runs a script in the page.
func (b *browser) evaluate(script string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script+"; true"))
	require.NoError(b.t, err)
}

// A user who types while a question comes up answers it by none of the keys, nor by a key that is held or a click that is
// under way when its buttons come up.
func TestWebchat_DecidesNothingByKeysInFlight(t *testing.T) {
	b := newBrowser(t)
	w := newWebchat(t)
	b.do(emulate(900, 700, "light"), chromedp.Navigate("http://"+w.address))
	b.sees("New chat")
	b.says("I want my money back.")
	open := "!!document.querySelector('.ask button')"
	for shown := false; !shown; { // keep typing, with all keys that press a button
		b.do(chromedp.SendKeys("#input", "a b"), press("Enter", 13), press(" ", 32))
		var err error
		shown, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](open))
		require.NoError(t, err)
	}
	for range 20 {
		b.do(press(" ", 32), press("Enter", 13))
	}
	require.Equal(t, "input", b.focused())
	undecided := func() {
		t.Helper()
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](open))
		require.NoError(t, err)
		require.True(t, ok, "nothing is decided")
	}
	undecided()

	// A key that went down before the buttons could be pressed, and one before that was moved to them.
	b.do(chromedp.Reload())
	b.until(open)
	b.evaluate(`dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))`)
	b.until("!!document.querySelector('.ask button.main:enabled')")
	b.evaluate(`document.querySelector('.ask button.main').click()`)
	b.evaluate(`dispatchEvent(new KeyboardEvent('keyup', {key: 'Enter'})); document.querySelector('.ask button.main').click()`)
	undecided()
	b.decides(".ask button.main")
	b.sees("Done: 40 euros are on their way.")
}

// A browser that watches a run while the server is killed and started again gets each event once, and the whole answer.
// Rules serving/SV8, serving/SV11.
func TestEventSource_ContinuesAfterTheServerWasKilled(t *testing.T) {
	b := newBrowser(t)
	w := newWebchat(t)
	b.do(chromedp.Navigate("http://" + w.address))
	b.sees("New chat")
	start := `(async () => {
		const answer = await fetch('/api/agents/desk/runs', {method: 'POST', headers: {'Content-Type': 'application/json'},
			body: JSON.stringify({input: 'Tell me a story.'})});
		const {id} = await answer.json();
		window.seen = []; window.text = ''; window.ended = false; window.run = id;
		const source = new EventSource('/api/runs/' + id + '/events');
		const take = e => {
			seen.push(e.lastEventId);
			const event = JSON.parse(e.data);
			if (e.type === 'run.restarted') text = '';
			if (e.type === 'model.end' && event.data.message) text = event.data.message.content;
			if (e.type === 'run.end') { ended = true; source.close(); }
		};
		for (const type of TYPES) source.addEventListener(type, take);
	})(); true`
	types := `['run.start','run.end','run.restarted','agent.start','agent.end','model.start','model.delta','model.end','saved','dropped','snapshot','message']`
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](strings.Replace(start, "TYPES", types, 1)))
	require.NoError(t, err)
	until := func(condition string) {
		t.Helper()
		require.Eventually(t, func() bool {
			ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](condition))
			return err == nil && ok
		}, 2*time.Minute, 100*time.Millisecond, condition)
	}
	until("window.seen?.length > 30")
	w.kill()
	w.start()
	until("window.ended")
	ids, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string]("window.seen"))
	require.NoError(t, err)
	last := runs.Cursor{}
	for _, id := range ids {
		at, err := runs.ParseCursor(strings.TrimSuffix(id, ".end"))
		require.NoError(t, err)
		require.Positive(t, at.Compare(last), "%s comes behind %s, and once", id, last)
		last = at
	}
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("window.text"))
	require.NoError(t, err)
	require.Equal(t, 40, strings.Count(text, "It wove a thread"))
}
