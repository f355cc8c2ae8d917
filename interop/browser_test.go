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
		t.Skip("chromium is not installed")
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

// shoot takes a picture of the page, for people, if WEFT_SCREENSHOTS names a directory.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("WEFT_SCREENSHOTS")
	if dir == "" {
		return
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
	enter := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{
				Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, NativeVirtualKeyCode: 13}); err != nil {
				return err
			}
		}
		return nil
	})
	b.do(chromedp.SendKeys("#input", text), enter)
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
	b.sees("may refund run with")
	b.shoot("light-approval")

	w.stop()
	w.start()
	b.do(chromedp.Reload())
	b.sees("How is the weather?")
	b.sees("may refund run with")
	b.shoot("restarted")
	b.do(chromedp.SendKeys(".ask button.main", "\n"))
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

	wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > innerWidth"))
	require.NoError(t, err)
	require.False(t, wide, "a narrow page does not scroll sideways")
	b.do(chromedp.Click("#new"), chromedp.WaitNotPresent("#log .message"))
}
