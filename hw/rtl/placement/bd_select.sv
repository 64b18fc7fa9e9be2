// Which flows take a frame: for each that does, the frame with its index among those of the flow; then the frame's end.
// While not armed, frames pass untaken.
module bd_select
  import framelane_pkg::*;
#(
    parameter int unsigned Flows = 4
) (
    input logic clk,
    input logic rst,

    input logic armed_i,

    // Flow table: flow_o of the registers is the entry that was asked for a cycle before. Its index twice, each for half of its words
    output logic  [1:0][7:0] flow_index_o,
    input  flow_t            flow_i,

    // Frames that lie complete in memory, with rising numbers
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,

    output chosen_t m_axis_chosen_tdata,
    output logic    m_axis_chosen_tvalid,
    input  logic    m_axis_chosen_tready,

    output logic frame_o,    // pulse: a frame was taken in while armed
    output logic ignored_o,  // pulse: while not armed
    output logic idle_o
);

  if (Flows < 1 || Flows > 8) begin : gen_check
    $error("%m: Flows = %0d must be 1 to 8", Flows);
  end

  localparam int unsigned COPIES = 4;
  localparam int unsigned FRAME_PART = ($bits(frame_t) + COPIES - 1) / COPIES;
  localparam int unsigned FLOW_PART = ($bits(flow_t) + COPIES - 1) / COPIES;

  typedef enum logic [3:0] {
    IDLE,    // waits for a frame
    READ,    // the table looks up a flow
    TAKE,    // the flow is there: is it one for this frame, can it be served, how far behind its first frame is this?
    CHECK,   // may it take the frame?
    DIVIDE,  // periods since its first frame, and the place in the period
    PLACE,   // does it take frames at that place?
    SCALE,   // frames taken in those periods
    COUNT,   // compares them with those that it takes
    JUDGE,   // were there enough?
    OFFER,   // hands the frame on
    OVER     // hands its end on
  } state_e;

  state_e state_q, state_d;
  (* keep, dont_merge *)logic [COPIES-1:0] idle_q, take_q;  // the state is IDLE, TAKE: for each part of what it loads
  logic [$bits(frame_t)-1:0] frame_bits, frame_bits_q;
  logic [$bits(flow_t)-1:0] flow_bits, flow_bits_q;
  frame_t frame_q;
  flow_t flow_q;
  logic [7:0] id_q;
  logic [1:0][7:0] ids_q;  // always equal
  assign id_q = ids_q[0];
  logic [63:0] index_q, number, since, since_q;
  logic early, candidate_q, next;
  logic beside_q, enough_q;  // the place is one of those left out; frames before this are all that it takes
  logic zero_q, rows_q, narrow_q, bad;  // what makes a flow one that cannot be served

  logic start_divide, divided, start_scale, scaled;
  logic [63:0] quotient, scale_result;
  logic [31:0] remainder;

  assign frame_bits = s_axis_frame_tdata;
  assign flow_bits = flow_i;
  assign frame_q = frame_bits_q;
  assign flow_q = flow_bits_q;
  assign number = flow_i.by_kind ? frame_q.kind_index : frame_q.number;
  assign bad = zero_q || (rows_q && narrow_q);
  assign {early, since} = {1'b0, number} - {1'b0, flow_i.first};

  serial_divide u_divide (
      .clk,
      .rst,
      .start_i    (start_divide),
      .dividend_i (since_q),
      .divisor_i  (flow_q.period),
      .done_o     (divided),
      .quotient_o (quotient),
      .remainder_o(remainder)
  );

  serial_scale u_scale (
      .clk,
      .rst,
      .start_i (start_scale),
      .value_i (quotient),
      .factor_i(flow_q.burst),
      .offset_i(64'(remainder)),
      .done_o  (scaled),
      .result_o(scale_result)
  );

  always_comb begin
    state_d = state_q;
    next = 1'b0;
    start_divide = 1'b0;
    start_scale = 1'b0;
    unique case (state_q)
      IDLE: if (s_axis_frame_tvalid) state_d = armed_i ? READ : OVER;
      READ: state_d = TAKE;
      TAKE: state_d = CHECK;
      CHECK:
      if (!candidate_q) next = 1'b1;
      else if (bad) state_d = OFFER;
      else begin
        start_divide = 1'b1;
        state_d = DIVIDE;
      end
      DIVIDE: if (divided) state_d = PLACE;
      PLACE: begin
        start_scale = 1'b1;
        if (beside_q) next = 1'b1;
        else state_d = SCALE;
      end
      SCALE: if (scaled) state_d = COUNT;
      COUNT: state_d = JUDGE;
      JUDGE:
      if (enough_q) next = 1'b1;
      else state_d = OFFER;
      OFFER: if (m_axis_chosen_tready) next = 1'b1;
      OVER: if (m_axis_chosen_tready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
    if (next) state_d = id_q == 8'(Flows - 1) ? OVER : READ;
  end

  always_ff @(posedge clk) begin
    state_q  <= state_d;
    beside_q <= remainder >= flow_q.burst;
    enough_q <= flow_q.count != '0 && index_q >= flow_q.count;
    if (state_q == IDLE) ids_q <= '0;
    if (state_q == TAKE) begin
      since_q <= since;
      candidate_q <= flow_i.enabled && !(flow_i.by_kind && flow_i.kind != frame_q.kind) && !early;
      zero_q <= flow_i.period == '0 || flow_i.burst == '0 || flow_i.bunch == '0 || flow_i.destinations == '0 ||
          flow_i.width == '0 || flow_i.height == '0 || flow_i.max_length == '0;
      rows_q <= flow_i.height != 16'd1;
      narrow_q <= flow_i.destination_pitch < 32'(flow_i.width) << (flow_i.wide ? 2 : 1);
    end
    if (state_q == SCALE) index_q <= scale_result;
    if (next) for (int unsigned c = 0; c < 2; c++) ids_q[c] <= ids_q[c] + 1'b1;
    if (rst) begin
      state_q <= IDLE;
      ids_q   <= '0;
    end
  end

  for (genvar c = 0; c < COPIES; c++) begin : gen_part
    localparam int unsigned FRAME_AT = c * FRAME_PART;
    localparam int unsigned FRAME_W = FRAME_AT + FRAME_PART > $bits(frame_t) ? $bits(frame_t) - FRAME_AT : FRAME_PART;
    localparam int unsigned FLOW_AT = c * FLOW_PART;
    localparam int unsigned FLOW_W = FLOW_AT + FLOW_PART > $bits(flow_t) ? $bits(flow_t) - FLOW_AT : FLOW_PART;

    always_ff @(posedge clk) begin
      idle_q[c] <= idle_q[c] ? !s_axis_frame_tvalid : state_q == OVER && m_axis_chosen_tready;
      take_q[c] <= state_q == READ && !take_q[c];
      if (idle_q[c]) frame_bits_q[FRAME_AT+:FRAME_W] <= frame_bits[FRAME_AT+:FRAME_W];
      if (take_q[c]) flow_bits_q[FLOW_AT+:FLOW_W] <= flow_bits[FLOW_AT+:FLOW_W];
      if (rst) begin
        idle_q[c] <= 1'b1;
        take_q[c] <= 1'b0;
      end
    end
  end

  assign flow_index_o = ids_q;
  assign s_axis_frame_tready = state_q == IDLE && !rst;  // what the reset would forget is not taken
  assign frame_o = s_axis_frame_tready && s_axis_frame_tvalid && armed_i;
  assign ignored_o = s_axis_frame_tready && s_axis_frame_tvalid && !armed_i;
  assign idle_o = state_q == IDLE;

  assign m_axis_chosen_tvalid = state_q == OFFER || state_q == OVER;
  assign m_axis_chosen_tdata = '{
          over: state_q == OVER,
          bad: bad,
          index: index_q,
          id: id_q,
          flow: flow_q,
          frame: frame_q
      };

`ifndef SYNTHESIS
  logic was_reset = 1'b0;
  always @(posedge clk) begin
    was_reset <= was_reset || rst;
    assert (rst || !was_reset || ids_q[0] == ids_q[1])
    else $error("%m: the copies of the index differ");
  end
`endif

endmodule
