// One pixel a clock: a raw word and its constants in, the corrected value or a pixel code out, LATENCY enabled cycles later.
// The table of widths is in models/jungfrau/jf_correct.py; the product fits a DSP slice.
module jf_lane
  import jf_pkg::*;
#(
    localparam int unsigned LATENCY = 7
) (
    input logic clk,
    input logic en_i,

    input logic [STAGES-1:0][4:0] shift_i,     // constant while pixels are under way
    input logic                   high_gain_i, // likewise: the first stage is HG0

    input logic [15:0] word_i,
    input logic [STAGES-1:0][15:0] pedestal_i,  // u14.2
    input logic [STAGES-1:0][15:0] mantissa_i,  // 0: masked
    input logic calibrated_i,  // 0: masked in all stages

    output logic signed [15:0] value_o
);

  typedef logic [$clog2(STAGES)-1:0] stage_t;

  typedef enum logic [2:0] {
    IS_VALUE,
    IS_HOLE,
    IS_INVALID,
    IS_MASKED,
    IS_SATURATED
  } code_e;

  function automatic code_e code_of(logic [15:0] word, logic masked, logic high_gain);
    if (word == HOLE_WORD) return IS_HOLE;
    if (word == ERROR_WORD || word == G1_ZERO_WORD || word[15:14] == FORBIDDEN_STAGE) return IS_INVALID;
    if (masked) return IS_MASKED;
    if (word == SATURATED_WORD || (high_gain && word == HG0_SATURATED_WORD)) return IS_SATURATED;
    return IS_VALUE;
  endfunction

  stage_t stage;
  assign stage = word_i[15] ? stage_t'(2) : stage_t'(word_i[14]);

  // 1: the constants of the word's stage
  stage_t stage1_q;
  logic [15:0] word1_q, pedestal1_q, mantissa1_q;
  logic calibrated1_q;

  // 2: d, turned so that charge is positive; the code
  logic [16:0] quarters;  // of the ADC
  logic turn;
  logic signed [16:0] charge2_q, mantissa2_q;
  stage_t stage2_q;
  code_e code2_q;
  assign quarters = {1'b0, word1_q[13:0], 2'b00};
  assign turn = stage1_q != '0;

  // 3: the product
  logic signed [33:0] product3_q;
  stage_t stage3_q;
  code_e code3_q;

  // 4, 5: shifted by a multiple of 8, then by the rest, with one bit kept behind the point, by which it is rounded in the
  // end. What does not fit is clipped in any case
  logic signed [34:0] coarse;
  logic signed [23:0] coarse4_q, fine5_q;
  logic [2:0] rest4_q;
  logic high4_q, low4_q, high5_q, low5_q;
  code_e code4_q, code5_q;
  assign coarse = $signed({product3_q, 1'b0}) >>> {shift_i[stage3_q][4:3], 3'd0};

  // 6: rounded
  logic signed [16:0] rounded6_q;
  logic high6_q, low6_q;
  code_e code6_q;

  always_ff @(posedge clk) begin
    if (en_i) begin
      stage1_q    <= stage;
      word1_q     <= word_i;
      pedestal1_q <= pedestal_i[stage];
      mantissa1_q <= mantissa_i[stage];
      calibrated1_q <= calibrated_i;

      // quarters - pedestal, or the other way round, in one adder
      charge2_q   <= (quarters ^ {17{turn}}) + ({1'b0, pedestal1_q} ^ {17{!turn}}) + 17'd1;
      mantissa2_q <= {1'b0, mantissa1_q};  // of one that is masked, anything
      stage2_q    <= stage1_q;
      code2_q     <= code_of(word1_q, !calibrated1_q || mantissa1_q == '0, high_gain_i);

      product3_q  <= charge2_q * mantissa2_q;
      stage3_q    <= stage2_q;
      code3_q     <= code2_q;

      coarse4_q   <= coarse[23:0];
      high4_q     <= !coarse[34] && coarse[33:23] != '0;
      low4_q      <= coarse[34] && coarse[33:23] != '1;
      rest4_q     <= shift_i[stage3_q][2:0];
      code4_q     <= code3_q;

      fine5_q     <= coarse4_q >>> rest4_q;
      high5_q     <= high4_q;
      low5_q      <= low4_q;
      code5_q     <= code4_q;

      rounded6_q  <= fine5_q[17:1] + 17'(fine5_q[0]);
      high6_q     <= high5_q || (!low5_q && !fine5_q[23] && fine5_q[22:16] != '0);
      low6_q      <= low5_q || (!high5_q && fine5_q[23] && fine5_q[22:16] != '1);
      code6_q     <= code5_q;

      unique case (code6_q)
        IS_HOLE: value_o <= HOLE;
        IS_INVALID: value_o <= INVALID;
        IS_MASKED: value_o <= MASKED;
        IS_SATURATED: value_o <= SATURATED;
        default: begin
          if (high6_q || (!low6_q && rounded6_q > 17'(MAX_VALUE))) value_o <= MAX_VALUE;
          else if (low6_q || rounded6_q < -17'(MAX_VALUE)) value_o <= -MAX_VALUE;
          else value_o <= rounded6_q[15:0];
        end
      endcase
    end
  end

  if (LATENCY != 7) begin : gen_check
    $error("%m: LATENCY = %0d, the pipeline has 7 steps", LATENCY);
  end

endmodule
