// The table of commands, in the order that help shows them.
#include "program/command.h"

namespace trainyard::cli {

extern const Command kAllReduce;
extern const Command kAnalyze;
extern const Command kBench;
extern const Command kCalibrate;
extern const Command kCheck;
extern const Command kCompletion;
extern const Command kData;
extern const Command kDetect;
extern const Command kDevice;
extern const Command kDevices;
extern const Command kConformance;
extern const Command kDistill;
extern const Command kDoctor;
extern const Command kEvaluate;
extern const Command kExport;
extern const Command kGenerate;
extern const Command kJobs;
extern const Command kLab;
extern const Command kModels;
extern const Command kOptimus;
extern const Command kPlan;
extern const Command kPredict;
extern const Command kQuantize;
extern const Command kReceptiveField;
extern const Command kReport;
extern const Command kStaleness;
extern const Command kScale;
extern const Command kSchedule;
extern const Command kSearch;
extern const Command kSweep;
extern const Command kValidate;
extern const Command kVecAdd;
extern const Command kRl;
extern const Command kRun;
extern const Command kRuns;
extern const Command kServe;
extern const Command kTrain;
extern const Command kTokenizer;
extern const Command kTransfer;
extern const Command kTransformer;
extern const Command kTta;
extern const Command kUi;
extern const Command kVersion;
extern const Command kWeights;

namespace {

// clang-format off
constexpr const Command* kCommands[] = {
    &kLab,
    &kDoctor,
    &kReport,
    &kUi,
    &kRuns,
    &kModels,
    &kAnalyze,
    &kReceptiveField,
    &kPredict,
    &kTransformer,
    &kSweep,
    &kValidate,
    &kDevices,
    &kCalibrate,
    &kOptimus,
    &kPlan,
    &kSchedule,
    &kExport,
    &kCheck,
    &kQuantize,
    &kRun,
    &kBench,
    &kVecAdd,
    &kDevice,
    &kServe,
    &kTrain,
    &kTta,
    &kSearch,
    &kDistill,
    &kEvaluate,
    &kGenerate,
    &kWeights,
    &kTransfer,
    &kDetect,
    &kScale,
    &kAllReduce,
    &kStaleness,
    &kRl,
    &kConformance,
    &kData,
    &kTokenizer,
    &kJobs,
    &kCompletion,
    &kVersion,
};
// clang-format on

}  // namespace

std::span<const Command* const> all_commands() {
  return kCommands;
}

}  // namespace trainyard::cli
