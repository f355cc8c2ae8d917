package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// workersDriver runs both halves of the program of docs/workers.md, with a model that asks for a payment.
const workersDriver = `package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
)

type reporter struct{}

func (reporter) Helper()                           {}
func (reporter) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
func (reporter) Cleanup(func())                    {}

func init() { driven = drive }

func drive() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pay := weft.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil })
	m := adktest.NewModel(reporter{}, adktest.Calls(adktest.Call("pay", "{}")), adktest.Says("done").SeeingLast("tool pay#call_1: paid"))
	agent, err := weft.New(weft.Config{Model: m, Tools: []weft.Tool{pay}, Approve: []string{"pay"}})
	if err != nil {
		log.Fatal(err)
	}
	store := checkpoint.NewMemoryStore()
	go func() { _ = work(store, agent) }()
	if err := submit(ctx, store); err != nil {
		log.Fatal(err)
	}
	out, err := dispatch.New(store, dispatch.Config{}).Wait(ctx, "ticket-7")
	for err == nil && out.Status != checkpoint.Done { // the answer is on its way
		time.Sleep(10 * time.Millisecond)
		out, err = dispatch.New(store, dispatch.Config{}).Wait(ctx, "ticket-7")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Result.Content)
}
`

// TestDocs_TheProgramOfWorkersIsRun: the answer of docs/workers.md is accepted, and its run ends.
func TestDocs_TheProgramOfWorkersIsRun(t *testing.T) {
	page, err := os.ReadFile("../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	program := goBlock.FindStringSubmatch(string(page))[1]
	driven, _, ok := strings.Cut(program, "func main()")
	if !ok {
		t.Fatal("the program has no main")
	}
	dir, err := os.MkdirTemp(".", "snippet")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, code := range map[string]string{"main.go": driven + "var driven func()\n\nfunc main() { driven() }\n", "driver.go": workersDriver} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-ldflags=-w", "./"+dir)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s%s", err, out, failed.String())
	}
}
