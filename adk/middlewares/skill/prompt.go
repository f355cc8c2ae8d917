package skill

import (
	"strings"

	"github.com/weftgo/weft/internal/language"
)

// systemPrompt returns the text that is put behind the instruction. It must have no braces: the instruction may be a
// template.
func systemPrompt(toolName string, chinese bool) string {
	text := language.Select(instruction, instructionChinese)
	if chinese {
		text = instructionChinese
	}
	return strings.ReplaceAll(text, "<tool_name>", toolName)
}

const instruction = `
# Skills System

You have skills: instructions for tasks of a certain kind, written by people who know how to do them well. You do not know their
text yet. At first you see only what each skill is called and what it is good for; you load the rest when you need it.

**When to use a skill:**
- The task of the user matches the description of a skill.
- A task needs knowledge, steps or formats that a skill promises.
- The user names a skill.

**How to use a skill:**
1. Look at the list in the description of the tool '<tool_name>', and choose the skill that fits.
2. Call the tool '<tool_name>' with the exact name of the skill.
3. Read the result and follow it. It takes precedence over how you would have done the task by yourself.
4. A skill may come with files: further text, scripts, templates. Their directory is named in the result. Use absolute paths to read or
   run them, and read them only when the skill tells you to.

**Example:** The user asks: "Turn this report into slides." A skill "slides" makes presentations. You call '<tool_name>' with the
name slides, read how slides are made here, and then make them in that way.

If no skill fits, work as you always do.
`

const instructionChinese = `
# 技能系统（Skills System）

你拥有一些技能：由熟悉相应任务的人编写的操作说明。你还不知道它们的全文。一开始你只能看到每个技能的名称和用途，需要时再加载其余内容。

**何时使用技能：**
- 用户的任务与某个技能的描述相符。
- 任务需要某个技能所提供的知识、步骤或格式。
- 用户点名要求使用某个技能。

**如何使用技能：**
1. 查看工具 '<tool_name>' 描述中的列表，选择合适的技能。
2. 用技能的准确名称调用工具 '<tool_name>'。
3. 阅读结果并照其执行。它优先于你自己原本的做法。
4. 技能可能附带文件：补充文档、脚本、模板。结果中会给出它们所在的目录。读取或运行这些文件时使用绝对路径，并且只在技能要求时读取。

**示例：** 用户说："把这份报告做成幻灯片。" 有一个制作演示文稿的技能 slides。你用名称 slides 调用 '<tool_name>'，了解这里制作幻灯片的方法，然后照此完成。

如果没有合适的技能，就按平常的方式工作。
`

const toolDescriptionBase = `Loads a skill: instructions for a certain kind of task.

- Before you start on a task, check whether one of the skills below fits it.
- Call the tool with the exact name of the skill, and nothing else in the name.
- If a skill fits, call this tool at once, before you answer. Do not merely announce or mention the skill.
- Only the skills in the list exist. Do not guess others.
- Do not load a skill again whose instructions you are already following.
- The result names the base directory of the skill. Relative paths in its instructions are relative to that directory.
`

const toolDescriptionBaseChinese = `加载一个技能：针对某类任务的操作说明。

- 开始任务之前，先检查下面是否有合适的技能。
- 用技能的准确名称调用此工具，名称中不要包含其他内容。
- 如果有合适的技能，先立即调用此工具，再作回答。不要只是宣布或提及该技能。
- 只存在列表中的技能，不要猜测其他名称。
- 不要重复加载你已经在执行的技能。
- 结果会给出技能的基础目录。说明中的相对路径都相对于该目录。
`

const (
	content        = "Launching skill: %s\nBase directory for this skill: %s\n\n%s"
	contentChinese = "正在启动 Skill：%s\n此 Skill 的目录：%s\n\n%s"

	forkResult        = "Skill \"%s\" completed (sub-agent execution).\n\nResult:\n%s"
	forkResultChinese = "技能 \"%s\" 已由子 Agent 执行完毕（completed）。\n\n结果：\n%s"

	siblingNote        = "This call is still running. Its result goes to the agent that made the call, not to you."
	siblingNoteChinese = "此调用仍在执行。其结果会交给发起调用的 Agent，而不是你。"
)
