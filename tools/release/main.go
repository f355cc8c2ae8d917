// Command release checks that what is published works outside the repository, and makes a release.
//
//	release -check                  # build and run everything as users get it, from a copy of the tree
//	release -version v0.2.0         # the same, then commit and tag; nothing is pushed
//
// In the tree the modules find each other by replace lines, which do not exist for those who import them. Both ways
// work on a copy: they write the version into every go.mod, drop the replace lines, add the hashes to every go.sum,
// and make the zips that module proxies will make of the tags. A proxy in the file system serves them to every module
// alone and to programs outside. See docs/releasing.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	check := flag.Bool("check", false, "check a copy of the tree, with its uncommitted files, and change nothing")
	version := flag.String("version", "", "the version to release, such as v0.2.0")
	dir := flag.String("dir", ".", "the root of the repository")
	keep := flag.Bool("keep", false, "keep the copy, and say where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, options{dir: *dir, version: *version, check: *check, keep: *keep, now: time.Now()})
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, version string
	check, keep  bool
	now          time.Time
	modCache     string
}

func run(ctx context.Context, o options) error {
	if o.check == (o.version != "") {
		return errors.New("want either -check or -version v0.x.y")
	}
	tree, err := openRepository(ctx, o.dir)
	if err != nil {
		return err
	}
	tags, err := tree.tags(ctx)
	if err != nil {
		return err
	}
	if o.check {
		if o.version, err = afterAll(tags); err != nil {
			return err
		}
	} else if err := tree.readyFor(ctx, o.version, tags); err != nil {
		return err
	}
	if o.modCache, err = modCacheOf(tree.dir); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "weft-release-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("the copy is in", scratch)
	} else {
		defer os.RemoveAll(scratch)
	}
	made, err := build(ctx, tree, scratch, o)
	if err != nil {
		return err
	}
	if err := made.verify(ctx); err != nil {
		return err
	}
	if o.check {
		fmt.Printf("release: %d modules work outside the repository\n", len(made.modules))
		return nil
	}
	return tree.commit(ctx, made)
}
