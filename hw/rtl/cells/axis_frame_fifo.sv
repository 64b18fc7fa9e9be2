// Queue for whole frames in block memory, behind a source that cannot wait: a frame that it has no room for is lost whole, and so is
// one that its source takes back. A frame comes out when all of it is in; no bubble inside it or behind it.
module axis_frame_fifo #(
    parameter int unsigned DataW  = 512,
    parameter int unsigned UserW  = 1,
    parameter int unsigned Depth  = 512,  // beats
    parameter int unsigned Frames = 64,   // at most

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic [UserW-1:0] s_axis_tuser,   // counts with tlast
    input logic             s_axis_tvalid,
    input logic             drop_i,         // with tlast: the frame is taken back

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic [UserW-1:0] m_axis_tuser,   // in all beats of the frame
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic lost_o  // pulse: no room for a frame that was not taken back
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check
    $error("%m: Depth = %0d must be a power of two, 2 or more", Depth);
  end

  localparam int unsigned PTR_W = $clog2(Depth);

  typedef struct packed {
    logic             last;
    logic [KeepW-1:0] keep;
    logic [DataW-1:0] data;
  } beat_t;

  beat_t memory[Depth];
  beat_t beat_q;  // the output register of the block memory: the oldest beat
  logic [PTR_W:0] write_q, whole_q, read_q;  // one bit more than an index; beats before whole_q are of whole frames
  logic full, lost_q, lost, push, ends, keeps, valid_q, load, user_ready, user_valid;

  assign full = (write_q ^ read_q) == (PTR_W + 1)'(Depth);
  assign push = s_axis_tvalid && !full;
  assign ends = s_axis_tvalid && s_axis_tlast;
  assign lost = lost_q || full || !user_ready;
  assign keeps = ends && !lost && !drop_i;
  assign load = whole_q != read_q && (m_axis_tready || !valid_q);

  always_ff @(posedge clk) begin
    if (push) memory[write_q[PTR_W-1:0]] <= '{last: s_axis_tlast, keep: s_axis_tkeep, data: s_axis_tdata};
    if (load) beat_q <= memory[read_q[PTR_W-1:0]];
    if (push) write_q <= write_q + 1'b1;
    if (ends && !keeps) write_q <= whole_q;
    if (keeps) whole_q <= write_q + 1'b1;
    if (s_axis_tvalid) lost_q <= !s_axis_tlast && (lost_q || full);
    read_q <= read_q + (PTR_W + 1)'(load);
    valid_q <= load || (valid_q && !m_axis_tready);
    lost_o <= ends && lost && !drop_i;
    if (rst) begin
      write_q <= '0;
      whole_q <= '0;
      read_q  <= '0;
      lost_q  <= 1'b0;
      lost_o  <= 1'b0;
      valid_q <= 1'b0;
    end
  end

  axis_fifo #(
      .DataW(UserW),
      .Depth(Frames)
  ) u_users (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_tuser),
      .s_axis_tvalid(keeps),
      .s_axis_tready(user_ready),
      .m_axis_tdata (m_axis_tuser),
      .m_axis_tvalid(user_valid),
      .m_axis_tready(m_axis_tvalid && m_axis_tready && m_axis_tlast)
  );

  assign m_axis_tdata = beat_q.data;
  assign m_axis_tkeep = beat_q.keep;
  assign m_axis_tlast = beat_q.last;
  assign m_axis_tvalid = valid_q;

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !m_axis_tvalid || user_valid)
    else $error("%m: a frame without what travels beside it");
  end
`endif

endmodule
