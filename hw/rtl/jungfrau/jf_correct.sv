// Corrects raw JUNGFRAU words, all pixels of a beat at once: beat i of a frame with beat i of the constants. One packet of
// constants for each frame. A frame that ends before its constants drops the rest of them; one that goes on behind them has
// masked pixels there: the next frame finds its own constants in both cases. Model: jf_correct.correct_int16.
module jf_correct
  import jf_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned UserW = 1,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [STAGES-1:0][4:0] shift_i,     // constant while pixels are under way
    input logic                   high_gain_i, // likewise: the first stage is HG0

    input  logic [DataW-1:0] s_axis_pixel_tdata,
    input  logic [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic             s_axis_pixel_tlast,
    input  logic [UserW-1:0] s_axis_pixel_tuser,   // leaves with its beat
    input  logic             s_axis_pixel_tvalid,
    output logic             s_axis_pixel_tready,

    // Pedestals of the stages, then their mantissas
    input  logic [PLANES-1:0][DataW-1:0] s_axis_constant_tdata,
    input  logic                         s_axis_constant_tlast,
    input  logic                         s_axis_constant_tuser,   // they are wrong: all pixels of the beat are masked
    input  logic                         s_axis_constant_tvalid,
    output logic                         s_axis_constant_tready,

    output logic [DataW-1:0] m_axis_pixel_tdata,
    output logic [KeepW-1:0] m_axis_pixel_tkeep,
    output logic             m_axis_pixel_tlast,
    output logic [UserW-1:0] m_axis_pixel_tuser,
    output logic             m_axis_pixel_tvalid,
    input  logic             m_axis_pixel_tready,

    output logic mismatch_o  // pulse: a frame was shorter or longer than its constants
);

  localparam int unsigned PIXELS = DataW / 16;
  localparam int unsigned LATENCY = 7;  // of a lane
  localparam int unsigned SIDE_W = KeepW + UserW + 1;

  if (DataW < 16 || DataW % 16 != 0) begin : gen_check
    $error("%m: DataW = %0d must be a multiple of 16", DataW);
  end

  // Which constants a frame gets
  typedef enum logic [1:0] {
    PAIRED,  // a beat of each
    DROP,    // the frame has ended: the rest of its constants
    MASK     // the constants have ended: the rest of the frame
  } state_e;

  state_e state_q, state_d;
  logic en, take, mismatch, calibrated;
  (* keep, dont_merge *)logic [PIXELS:0] en_q;  // go on: one for each lane, and one beside them; all are always equal

  always_comb begin
    state_d = state_q;
    take = 1'b0;
    s_axis_constant_tready = 1'b0;
    mismatch = 1'b0;
    unique case (state_q)
      PAIRED: begin
        take = s_axis_pixel_tvalid && s_axis_constant_tvalid;
        s_axis_constant_tready = s_axis_pixel_tvalid && en;
        mismatch = take && s_axis_pixel_tlast != s_axis_constant_tlast;
        if (mismatch) state_d = s_axis_pixel_tlast ? DROP : MASK;
      end
      DROP: begin
        s_axis_constant_tready = 1'b1;
        if (s_axis_constant_tvalid && s_axis_constant_tlast) state_d = PAIRED;
      end
      default: begin
        take = s_axis_pixel_tvalid;
        if (take && s_axis_pixel_tlast) state_d = PAIRED;
      end
    endcase
  end

  assign calibrated = state_q == PAIRED && !s_axis_constant_tuser;
  assign s_axis_pixel_tready = en && (state_q == MASK || (state_q == PAIRED && s_axis_constant_tvalid));

  always_ff @(posedge clk) begin
    if (en || state_q == DROP) state_q <= state_d;
    mismatch_o <= mismatch && en;
    if (rst) begin
      state_q <= PAIRED;
      mismatch_o <= 1'b0;
    end
  end

  // The pixels, and beside them what belongs to their beat
  logic [DataW-1:0] value;
  logic [LATENCY-1:0][SIDE_W-1:0] side_q;
  logic [LATENCY-1:0] valid_q;

  for (genvar k = 0; k < PIXELS; k++) begin : gen_lane
    logic [STAGES-1:0][15:0] pedestal, mantissa;

    for (genvar g = 0; g < STAGES; g++) begin : gen_stage
      assign pedestal[g] = s_axis_constant_tdata[g][16*k+:16];
      assign mantissa[g] = s_axis_constant_tdata[STAGES+g][16*k+:16];
    end

    jf_lane u_lane (
        .clk,
        .en_i        (en_q[k]),
        .shift_i,
        .high_gain_i,
        .word_i      (s_axis_pixel_tdata[16*k+:16]),
        .pedestal_i  (pedestal),
        .mantissa_i  (mantissa),
        .calibrated_i(calibrated),
        .value_o     (value[16*k+:16])
    );
  end

  always_ff @(posedge clk) begin
    if (en) begin
      side_q  <= {side_q[LATENCY-2:0], {s_axis_pixel_tlast, s_axis_pixel_tkeep, s_axis_pixel_tuser}};
      valid_q <= {valid_q[LATENCY-2:0], take};
    end
    if (rst) valid_q <= '0;
  end

  // Stops all lanes at once, when a beat is at their end and the one before it has found no sink
  logic skid_tready;

  assign en = en_q[PIXELS];

  for (genvar k = 0; k <= PIXELS; k++) begin : gen_en
    always_ff @(posedge clk) begin
      en_q[k] <= m_axis_pixel_tready || (skid_tready && !valid_q[LATENCY-1]) ||
          !(en_q[k] ? valid_q[LATENCY-2] : valid_q[LATENCY-1]);
      if (rst) en_q[k] <= 1'b1;
    end
  end

  axis_skid #(
      .DataW(DataW + SIDE_W)
  ) u_skid (
      .clk,
      .rst,
      .s_axis_tdata ({value, side_q[LATENCY-1]}),
      .s_axis_tvalid(valid_q[LATENCY-1]),
      .s_axis_tready(skid_tready),
      .m_axis_tdata ({m_axis_pixel_tdata, m_axis_pixel_tlast, m_axis_pixel_tkeep, m_axis_pixel_tuser}),
      .m_axis_tvalid(m_axis_pixel_tvalid),
      .m_axis_tready(m_axis_pixel_tready)
  );

endmodule
