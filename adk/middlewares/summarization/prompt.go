package summarization

const (
	systemPrompt        = "You write summaries of conversations between a user and an AI agent. The agent will continue its work with nothing but your summary."
	systemPromptChinese = "你负责为用户与 AI 智能体之间的对话撰写摘要。智能体将仅凭你的摘要继续工作。"

	preamble        = "This conversation continues an earlier one that became too long to be kept. What happened in it is summarized here:"
	preambleChinese = "本次对话延续自一段因过长而无法保留的早先对话。其内容总结如下："

	continueText        = "Continue with the work where it was left. Do not ask the user about what is said above, do not recap it, and do not mention the summary."
	continueTextChinese = "请从中断处继续工作。不要就以上内容向用户提问，不要复述，也不要提及这份摘要。"

	transcriptHint        = "Should you need details that the summary leaves out, such as exact code, messages or outputs, read the whole conversation in: %s"
	transcriptHintChinese = "如果需要摘要中没有的细节（例如确切的代码、消息或输出），请阅读完整对话记录：%s"

	someDropped        = "    (Earlier messages were left out, and long ones may be shortened.)"
	someDroppedChinese = "    （较早的消息已省略，过长的消息可能已缩短。）"

	cutMarker        = "…[%d characters truncated]…"
	cutMarkerChinese = "…[已截断 %d 个字符]…"

	skillsIntro        = "These skills were loaded earlier in the conversation. Keep following them where they apply:"
	skillsIntroChinese = "以下技能在先前的对话中已加载。在适用时请继续遵循："

	skillSection        = "\n### Skill: %s\n\n%s\n"
	skillSectionChinese = "\n### 技能：%s\n\n%s\n"

	skillCut        = "\n\n[... skill content truncated for compaction; load the skill again for the rest]"
	skillCutChinese = "\n\n[... 技能内容因压缩而被截断；如需其余部分请重新加载该技能]"
)

const userPrompt = `Write a summary of the conversation above. Answer with text only: do not call any tool, whatever the conversation says.

The summary takes the place of the conversation, so whoever reads it must be able to go on without asking. Keep the facts: names, paths, numbers, commands, code, decisions and their reasons.

First collect your thoughts in an <analysis> block: go through the conversation from beginning to end and note for each part what the user wanted, what was done, what went wrong, and what the user said about it. Look twice at the latest messages.

Then write the summary in a <summary> block with these sections:

1. Request and intent: everything that the user asked for, in detail.
2. Key concepts: the technologies, terms and ideas that matter.
3. Files and code: the files that were read, changed or made, why each matters, with the important pieces of code in full.
4. Errors and fixes: what failed and how it was solved, above all where the user asked for something else.
5. Problem solving: what has been solved, and what is still being looked into.
6. All user messages: every message of the user that is no result of a tool, inside <all_user_messages> tags.
7. Pending tasks: what the user has asked for and is not done.
8. Current work: what was being done right before this request, exactly.
9. Next step: the step that follows directly from the latest work and the user's latest wishes, with a quotation that shows where the work stopped. If the last task was finished, write that.

If the conversation has instructions for summaries, such as what to focus on, follow them, too.

The layout of your answer:

<analysis>
[your thoughts]
</analysis>

<summary>
1. Request and intent:
   [...]

2. Key concepts:
   - [...]

3. Files and code:
   - [file]
     - [why it matters]
     - [code]

4. Errors and fixes:
   - [error]: [fix]

5. Problem solving:
   [...]

6. All user messages:
<all_user_messages>
    - [message]
</all_user_messages>

7. Pending tasks:
   - [...]

8. Current work:
   [...]

9. Next step:
   [...]
</summary>`

const userPromptChinese = `请为以上对话撰写摘要。只用文字回答：无论对话中说了什么，都不要调用任何工具。

摘要将取代这段对话，因此读者必须无需提问就能继续工作。请保留事实：名称、路径、数字、命令、代码、决定及其原因。

首先在 <analysis> 块中整理思路：从头到尾回顾对话，针对每一部分记下用户想要什么、做了什么、出了什么问题、用户对此说了什么。对最近的消息要看两遍。

然后在 <summary> 块中按以下章节撰写摘要：

1. 请求与意图：用户提出的所有要求，务必详细。
2. 关键概念：重要的技术、术语和想法。
3. 文件与代码：读取、修改或创建过的文件，各自为何重要，并完整给出重要代码片段。
4. 错误与修复：哪些地方失败了、如何解决，尤其是用户要求换一种做法之处。
5. 问题解决：已经解决的问题，以及仍在排查的问题。
6. 所有用户消息：用户的每一条消息（不含工具结果），放在 <all_user_messages> 标签内。
7. 待办任务：用户要求但尚未完成的事项。
8. 当前工作：在本次请求之前正在做的具体事情。
9. 下一步：由最近的工作和用户最近的要求直接得出的步骤，并引用原文说明工作停在何处。如果最后一项任务已完成，请写明。

如果对话中有关于摘要的指示（例如应侧重什么），也请遵循。

回答的格式：

<analysis>
[你的思路]
</analysis>

<summary>
1. 请求与意图：
   [...]

2. 关键概念：
   - [...]

3. 文件与代码：
   - [文件]
     - [为何重要]
     - [代码]

4. 错误与修复：
   - [错误]：[修复]

5. 问题解决：
   [...]

6. 所有用户消息：
<all_user_messages>
    - [消息]
</all_user_messages>

7. 待办任务：
   - [...]

8. 当前工作：
   [...]

9. 下一步：
   [...]
</summary>`
