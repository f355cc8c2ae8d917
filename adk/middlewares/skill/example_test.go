package skill_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/skill"
)

// Skills are files in a directory.
func ExampleNewBackendFromFilesystem() {
	ctx := context.Background()
	files := filesystem.NewInMemoryBackend()
	err := files.Write(ctx, &filesystem.WriteRequest{FilePath: "/skills/slides/SKILL.md", Content: `---
name: slides
description: Makes presentations that people stay awake for.
---
Use few words. Read style.md before you start.
`})
	if err != nil {
		panic(err)
	}
	backend, err := skill.NewBackendFromFilesystem(ctx,
		&skill.BackendFromFilesystemConfig{Backend: files, BaseDir: "/skills"})
	if err != nil {
		panic(err)
	}
	slides, err := backend.Get(ctx, "slides")
	if err != nil {
		panic(err)
	}
	fmt.Println(slides.Description)
	fmt.Println(slides.Content)
	fmt.Println(slides.BaseDirectory)
	// Output:
	// Makes presentations that people stay awake for.
	// Use few words. Read style.md before you start.
	// /skills/slides
}
