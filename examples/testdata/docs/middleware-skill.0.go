package main

import (
	"os"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(os.MkdirAll("skills/slides", 0o700))
	drive.Check(os.WriteFile("skills/slides/SKILL.md", []byte("---\nname: slides\ndescription: Makes slides.\n---\nThree lines a slide.\n"), 0o600))
	artist, err := newArtist(drive.Context(), drive.Model(adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`)), adktest.Says("Made.")))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(artist).Query(drive.Context(), "Make slides.")), "Made.")
}
