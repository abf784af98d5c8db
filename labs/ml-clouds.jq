# Functions of lab ml-clouds, of the result of `jobs compare`: rows {field, cells: [{platform, path, value}]} and listings.

def service_name: {sagemaker: "Amazon SageMaker", vertex: "Google Vertex AI", azureml: "Azure ML", ibm: "IBM watsonx.ai", skypilot: "SkyPilot"}[.] // .;

# The paths of a platform's command.
def command_paths(platform): [.rows[] | select(.field == "command").cells[] | select(.platform == platform).path | split(", ")[]];

# The rows, whose cells say whether the field is one of its own: what goes into the command line has none.
def own_fields:
  . as $result
  | .rows | map(.field as $field | .cells |= map(. + {own: (.path != "" and ($field == "command" or ((.path | split(", ")) - (.platform as $p | $result | command_paths($p)) | length > 0)))}));

# Which fields all services have, and how many each lacks, of the rows of own_fields.
def fields_answer(clouds):
  (clouds | map(service_name)) as $services
  | [.[] | select(all(.cells[]; .own)).field] as $shared | [.[].cells[] | select(.own | not)] as $lacking
  | "Of the \(length | count_of("field")) that the job sets, \($services | listed) "
    + (if ($shared | length) == 0 then "share none." else "\(if ($services | length) == 1 then "has" else "all have" end) \($shared | length): \($shared | map(field_words) | listed)." end)
    + ($lacking | group_by(.platform) | map("\(.[0].platform | service_name) lacks \(length)") | if length == 0 then "" else " " + listed + "; what has to go into the command line is no field." end);

# Fields that some service has not, of the rows of own_fields.
def lacking_rows: [.[] | [.cells[] | select(.own | not).platform | service_name] as $not | select($not | length > 0) | {field: (.field | field_words), where: ($not | listed)}];

# Listings whose lines are marked by their own field: a line of the command is the command's, whatever else stands in it.
def own_listings:
  own_fields as $rows
  | [.listings | to_entries[] | .key as $i | .value
     | .lines |= map(if .mark then .mark |= (. as $mark | (if any($rows[]; .field == $mark and (.cells[$i].own == false) and .cells[$i].path != "") then "command" else $mark end) | field_words) else . end)];

# Rows of one section of the services that were asked for, of all data: {topic, <platform>: text}.
def section_cells(section):
  (.settings.clouds | split(",")) as $clouds
  | .services[0].result.rows | map(select(.section == section) | .cells |= map(select(.platform as $platform | $clouds | index([$platform]))));
def section_rows(section): section_cells(section) | map({topic} + (.cells | map({key: .platform, value: .text}) | from_entries));

# "Amazon SageMaker: botocore 1.43 (2026-11-15); …"
def section_sources(section):
  section_cells(section) | .[0].cells // [] | map("\(.platform | service_name): \(.source) (\(.date))") | if length == 0 then "" else "Sources: " + join("; ") + "." end;

# For which topics the table says that a service has none ("none", "no …"), and what is not verified.
def lacks: test("^(none|no)\\b");
def section_answer(section):
  section_cells(section) as $rows
  | [$rows[] | .topic as $topic | .cells[] | {topic: $topic, service: (.platform | service_name), text}] as $cells
  | [$cells[] | select(.text | lacks)] as $none | [$cells[] | select(.text | contains("(u)")) | "\(.topic) of \(.service)"] as $unverified
  | (if ($none | length) == 0 then "Each of these services has something for every topic."
     else "The table has none for " + ($none | in_order(.service) | map("\(map(.topic) | listed) of \(.[0].service)") | join("; ")) + "." end)
    + (if ($unverified | length) == 0 then " Every cell was read in a source." else " Not verified in a source: \($unverified | listed)." end);
