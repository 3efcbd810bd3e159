//===- HtmlReport.cpp - The plan report as one HTML page --------------------===//
//
// The tables of the text report, bars for memory and the timetable as drawn boxes; nothing is loaded from elsewhere.
//
//===----------------------------------------------------------------------===//
#include "Tables.h"
#include <algorithm>

namespace lf {

static std::string escape(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

static std::string html(const Table &t) {
  std::string text = "<h2>" + escape(t.title) + "</h2>\n<table>\n";
  if (t.header.back() != "") {
    text += "<tr>";
    for (const std::string &cell : t.header)
      text += "<th>" + escape(cell) + "</th>";
    text += "</tr>\n";
  }
  for (const auto &row : t.rows) {
    text += "<tr>";
    for (size_t c = 0; c < row.size(); ++c)
      text += (c < t.textColumns ? "<td>" : "<td class=\"n\">") + escape(row[c]) + "</td>";
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

/// A bar for each pipeline rank, as long as its peak.
static std::string memoryBars(const PlanReport &r) {
  static const char *const colours[] = {"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#b07aa1"};
  static const char *const names[] = {"parameters", "gradients", "optimizer", "saved", "workspace", "staging"};
  double scale = 900.0 / static_cast<double>(std::max<int64_t>(1, r.largest().memory.peak()));
  std::string text = "<p>";
  for (int i = 0; i < 6; ++i)
    text += std::string("<span class=\"key\" style=\"background:") + colours[i] + "\"></span>" + names[i] + " ";
  text += "</p>\n<svg width=\"960\" height=\"" + std::to_string(24 * r.ranks.size()) + "\">\n";
  for (size_t i = 0; i < r.ranks.size(); ++i) {
    const RankMemory &m = r.ranks[i].memory;
    const int64_t parts[] = {m.parameters, m.gradients, m.optimizer, m.saved, m.workspace, m.staging};
    double x = 40;
    std::string y = std::to_string(24 * i);
    text += "<text x=\"0\" y=\"" + std::to_string(24 * i + 15) + "\">pp " + std::to_string(r.ranks[i].pp) + "</text>";
    for (int part = 0; part < 6; ++part) {
      double width = scale * static_cast<double>(parts[part]);
      if (width > 0)
        text += "<rect x=\"" + std::to_string(x) + "\" y=\"" + y + "\" width=\"" + std::to_string(width) +
                "\" height=\"20\" fill=\"" + colours[part] + "\"><title>" + names[part] + " " + bytesText(parts[part]) +
                "</title></rect>";
      x += width;
    }
    text += "\n";
  }
  return text + "</svg>\n";
}

std::string htmlReport(const PlanReport &r) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escape(planName(r)) +
      "</title>\n<style>body{font:14px sans-serif;margin:2em;max-width:72em}table{border-collapse:collapse}"
      "td,th{border-bottom:1px solid #ddd;padding:.2em .8em;text-align:left}td.n{text-align:right}"
      "pre{overflow-x:auto;background:#f6f6f6;padding:1em}h2{font-size:1.1em;margin-top:2em}"
      ".key{display:inline-block;width:1em;height:1em;margin:0 .3em 0 1em}</style></head><body>\n<h1>" +
      escape(planName(r)) + "</h1>\n";
  for (const Table &table : {planTable(r), stageTable(r), layerTable(r)})
    text += html(table);
  text += html(memoryOf(r)) + memoryBars(r);
  if (Table traffic = trafficTable(r); !traffic.rows.empty())
    text += html(traffic);
  text += "<h2>timetable, in flops</h2>\n<pre>" + escape(timetableText(r, 400)) + "</pre>\n";
  text += "<h2>plan.json</h2>\n<pre>" + escape(planText(fullPlanJson(r, false))) + "</pre>\n";
  return text + "</body></html>\n";
}

} // namespace lf
