// Packets of the core to a MAC with a clock and a width of its own. Wiring only.
//
//   core -> [axis_widen] -> cdc_packets -> mac_gate -> axis_narrow -> mac_pad -> MAC
//
// Behind cdc_packets a beat takes three cycles to the MAC while that is ready, always.
module mac_tx #(
    parameter int unsigned DataW     = 512,
    parameter int unsigned MacW      = 512,
    parameter int unsigned Depth     = 256,  // beats of the wider side
    parameter int unsigned MinBytes  = 60,
    parameter int unsigned GapCycles = 0,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    input logic mac_clk,
    input logic mac_rst,

    output logic [    MacW-1:0] m_axis_tdata,
    output logic [MacKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic                m_axis_tuser,   // with tlast: the FCS is to be wrong
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,

    // In mac_clk
    input  logic [15:0] threshold_i,
    output logic        underrun_o,
    output logic        too_long_o
);

  localparam int unsigned WIDE = DataW > MacW ? DataW : MacW;
  localparam int unsigned WIDE_KEEP = WIDE / 8;

  logic [WIDE-1:0] in_tdata, queued_tdata, gated_tdata;
  logic [WIDE_KEEP-1:0] in_tkeep, queued_tkeep, gated_tkeep;
  logic in_tlast, in_tvalid, in_tready;
  logic queued_tlast, queued_tuser, queued_tvalid, queued_tready, whole, restarts;
  logic gated_tlast, gated_tuser, gated_tvalid, gated_tready;
  logic [$clog2(Depth):0] level;
  logic [MacW-1:0] narrow_tdata;
  logic [MacKeepW-1:0] narrow_tkeep;
  logic narrow_tlast, narrow_tuser, narrow_tvalid, narrow_tready;

  if (DataW < WIDE) begin : gen_widen
    logic unused;

    axis_widen #(
        .InW (DataW),
        .OutW(WIDE)
    ) u_widen (
        .clk,
        .rst,
        .s_axis_tdata,
        .s_axis_tkeep,
        .s_axis_tlast,
        .s_axis_tuser (1'b0),
        .s_axis_tvalid,
        .s_axis_tready,
        .m_axis_tdata (in_tdata),
        .m_axis_tkeep (in_tkeep),
        .m_axis_tlast (in_tlast),
        .m_axis_tuser (unused),
        .m_axis_tvalid(in_tvalid),
        .m_axis_tready(in_tready)
    );
  end else begin : gen_as_it_is
    assign in_tdata = s_axis_tdata;
    assign in_tkeep = s_axis_tkeep;
    assign in_tlast = s_axis_tlast;
    assign in_tvalid = s_axis_tvalid;
    assign s_axis_tready = in_tready;
  end

  cdc_packets #(
      .DataW(WIDE_KEEP + WIDE),
      .Depth(Depth),
      .Block(1'b1)
  ) u_queue (
      .s_clk        (clk),
      .s_rst        (rst),
      .s_axis_tdata ({in_tkeep, in_tdata}),
      .s_axis_tlast (in_tlast),
      .s_axis_tvalid(in_tvalid),
      .s_axis_tready(in_tready),
      .m_clk        (mac_clk),
      .m_rst        (mac_rst),
      .m_axis_tdata ({queued_tkeep, queued_tdata}),
      .m_axis_tlast (queued_tlast),
      .m_axis_tuser (queued_tuser),
      .m_axis_tvalid(queued_tvalid),
      .m_axis_tready(queued_tready),
      .whole_o      (whole),
      .level_o      (level),
      .clear_o      (restarts)
  );

  mac_gate #(
      .DataW(WIDE),
      .Depth(Depth)
  ) u_gate (
      .clk          (mac_clk),
      .rst          (mac_rst),
      .restart_i    (restarts),
      .threshold_i,
      .s_axis_tdata (queued_tdata),
      .s_axis_tkeep (queued_tkeep),
      .s_axis_tlast (queued_tlast),
      .s_axis_tuser (queued_tuser),
      .s_axis_tvalid(queued_tvalid),
      .s_axis_tready(queued_tready),
      .whole_i      (whole),
      .level_i      (level),
      .m_axis_tdata (gated_tdata),
      .m_axis_tkeep (gated_tkeep),
      .m_axis_tlast (gated_tlast),
      .m_axis_tuser (gated_tuser),
      .m_axis_tvalid(gated_tvalid),
      .m_axis_tready(gated_tready),
      .underrun_o,
      .too_long_o
  );

  axis_narrow #(
      .DataW(WIDE),
      .OutW (MacW)
  ) u_narrow (
      .clk          (mac_clk),
      .rst          (mac_rst),
      .s_axis_tdata (gated_tdata),
      .s_axis_tkeep (gated_tkeep),
      .s_axis_tlast (gated_tlast),
      .s_axis_tuser (gated_tuser),
      .s_axis_tvalid(gated_tvalid),
      .s_axis_tready(gated_tready),
      .m_axis_tdata (narrow_tdata),
      .m_axis_tkeep (narrow_tkeep),
      .m_axis_tlast (narrow_tlast),
      .m_axis_tuser (narrow_tuser),
      .m_axis_tvalid(narrow_tvalid),
      .m_axis_tready(narrow_tready)
  );

  mac_pad #(
      .DataW    (MacW),
      .MinBytes (MinBytes),
      .GapCycles(GapCycles)
  ) u_pad (
      .clk          (mac_clk),
      .rst          (mac_rst),
      .s_axis_tdata (narrow_tdata),
      .s_axis_tkeep (narrow_tkeep),
      .s_axis_tlast (narrow_tlast),
      .s_axis_tuser (narrow_tuser),
      .s_axis_tvalid(narrow_tvalid),
      .s_axis_tready(narrow_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
