// Doctor report: the rules and what they found, as text, JSON, SARIF or a checklist.

export { checklistText } from "../../doctor/report/checklist.ts";
export { diagnosisJson, diagnosisSarif } from "../../doctor/report/diagnosis-json.ts";
export { diagnosisText, ruleList, ruleText } from "../../doctor/report/diagnosis-text.ts";
export { findRule, RULES } from "../../doctor/rules/all-rules.ts";
